package symbols

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
)

// A slot holds only the text and tag of its Set.
func TestCacheHoldsTextAndTag(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		var cache Cache[int64, string]
		texts := []string{"", "a", "b", "ab", strings.Clone("a"), "some longer text"}
		for range 2000 {
			text := texts[r.IntN(len(texts))]
			tag := r.Int64N(3)
			slot := cache.Slot(text, tag)
			want := fmt.Sprint(text, "/", tag)
			if slot.Holds(text, tag) {
				if slot.Value != want {
					t.Fatalf("seed %d: %q, want %q", seed, slot.Value, want)
				}
				if slot.Holds(text, tag+1) || slot.Holds(text+"x", tag) {
					t.Fatalf("seed %d: the slot of %q holds something else", seed, want)
				}
				continue
			}
			slot.Set(text, tag, want)
			if !slot.Holds(text, tag) || cache.Slot(text, tag) != slot {
				t.Fatalf("seed %d: %q is not there", seed, want)
			}
		}
	})
}
