package intern

import (
	"math/rand/v2"
	"testing"
)

// The cache holds the last text of each slot and nothing else.
func TestShort(t *testing.T) {
	var cache Short
	if text, ok := cache.Find(Words{}); text != "" || !ok {
		t.Errorf("no words are %q, %v", text, ok)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	texts := map[Words]string{}
	for i := range 5000 {
		w := Words{rng.Uint64N(20), rng.Uint64N(20), 1 + rng.Uint64N(5)}
		if text, ok := cache.Find(w); ok && text != texts[w] {
			t.Fatalf("%v is %q, want %q", w, text, texts[w])
		}
		texts[w] = string(rune('a' + i%26))
		cache.Add(w, texts[w])
		if text, ok := cache.Find(w); !ok || text != texts[w] {
			t.Fatalf("%v is %q, %v after Add of %q", w, text, ok, texts[w])
		}
	}
}
