package intern

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
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

// The words of a text are made of its bytes alone, and differ from those of any other.
func TestWordsOf(t *testing.T) {
	seen := map[Words]string{}
	for n := range 40 {
		for i := range n + 1 {
			text := bytes.Repeat([]byte("k"), n)
			if i < n {
				text[i] = 0
			}
			var words Words
			for _, behind := range []string{strings.Repeat("x", 24), strings.Repeat("\xff", 24), ""} {
				b := append(slices.Clip(text), behind...)[:n]
				if behind == "" {
					b = slices.Clip(text)
				}
				w, ok := WordsOf(b)
				if want := n <= 23 && cap(b) >= 24; ok != want {
					t.Fatalf("%q with %d bytes behind it: %t", text, cap(b)-n, ok)
				}
				if !ok {
					continue
				}
				if words != (Words{}) && w != words {
					t.Fatalf("%q: %x, then %x", text, words, w)
				}
				words = w
			}
			if other, ok := seen[words]; ok && n <= 23 {
				t.Fatalf("%q and %q: %x", text, other, words)
			}
			seen[words] = string(text)
		}
	}
}
