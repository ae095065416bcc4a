package heap

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/cases"
)

// The top is the largest of the items.
func TestTopIsTheLargest(t *testing.T) {
	cases.Seeds(t, 50, func(seed uint64, r *rand.Rand) {
		h := Heap[int]{Less: func(a, b int) bool { return a < b }}
		kept := map[int]int{}
		for range 1 + r.IntN(40) {
			v := r.IntN(20)
			h.Push(v)
			kept[v]++
		}
		for range r.IntN(40) {
			v := r.IntN(20)
			if kept[h.Top()]--; kept[h.Top()] == 0 {
				delete(kept, h.Top())
			}
			h.ReplaceTop(v)
			kept[v]++
			largest := 0
			for v := range maps.Keys(kept) {
				largest = max(largest, v)
			}
			if h.Top() != largest {
				t.Fatalf("seed %d: top %d, want %d", seed, h.Top(), largest)
			}
		}
	})
}
