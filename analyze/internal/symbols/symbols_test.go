package symbols

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/cases"
)

// Whatever the addresses of the names, each has one number, given in the order
// of first appearance, and Names agrees with Table.
func TestNumbersAreThoseOfFirstAppearance(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		var names Names
		var table Table[string]
		want := map[string]int32{}
		for range 3000 {
			name := fmt.Sprint("operation ", r.IntN(1000))
			if r.IntN(20) == 0 {
				name = ""
			}
			number, ok := want[name]
			if !ok {
				number = int32(len(want))
				want[name] = number
			}
			if r.IntN(2) == 0 {
				name = strings.Clone(name)
			}
			if got := names.ID(name); got != number || names.Values[got] != name {
				t.Fatalf("seed %d: Names: %q is %d, want %d", seed, name, got, number)
			}
			if got := table.ID(name); got != number || table.Values[got] != name {
				t.Fatalf("seed %d: Table: %q is %d, want %d", seed, name, got, number)
			}
		}
	})
}

// A slot holds nothing but the text and tag that it was set to.
func TestCacheHoldsTextAndTag(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		var cache Cache[int64, string]
		texts := []string{"", "a", "b", "ab", strings.Clone("a"), "some longer text"}
		for range 2000 {
			text, tag := texts[r.IntN(len(texts))], r.Int64N(3)
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
