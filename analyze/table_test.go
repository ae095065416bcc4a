package analyze

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counter is a row that counts.
type counter struct{ n int }

func (c *counter) fold(src *counter) { c.n += src.n }

// contents returns the rows by key, that of the others as "(other)".
func contents(t *table[counter]) map[string]int {
	m := map[string]int{}
	for key, row := range t.rows {
		m[key] = row.value.n
	}
	if t.other != nil {
		m[otherLabel] = t.other.value.n
	}
	return m
}

func count(t *table[counter], key string) {
	row, _ := t.row([]byte(key))
	row.value.n++
}

// Whatever the limit, the order of the keys and the parts they come in, the
// same rows stay, and they are complete.
func TestTableKeepsTheSameRowsInAnyOrder(t *testing.T) {
	seeds(200, func(seed uint64, r *rand.Rand) {
		limit, keys := 1+r.IntN(8), 1+r.IntN(20)
		whole := newTable(limit, (*counter).fold)
		parts := make([]*table[counter], 1+r.IntN(5))
		for i := range parts {
			parts[i] = newTable(limit, (*counter).fold)
		}
		counts := map[string]int{}
		for range r.IntN(300) {
			key := fmt.Sprint("key", r.IntN(keys))
			counts[key]++
			count(whole, key)
			count(parts[r.IntN(len(parts))], key)
		}
		merged := newTable(limit, (*counter).fold)
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		for _, part := range parts {
			before := contents(part)
			merged.merge(part, func(_, _ *counter) {})
			if diff := cmp.Diff(before, contents(part)); diff != "" {
				t.Errorf("seed %d: merging changed the source: %s", seed, diff)
			}
		}
		if diff := cmp.Diff(contents(whole), contents(merged)); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
		rest := 0
		want := map[string]int{}
		for key, n := range counts {
			if _, ok := whole.rows[key]; ok {
				want[key] = n
			} else {
				rest += n
			}
		}
		if rest > 0 {
			want[otherLabel] = rest
		}
		if diff := cmp.Diff(want, contents(whole)); diff != "" {
			t.Errorf("seed %d: a row is not complete: %s", seed, diff)
		}
		overflow := int64(max(0, len(counts)-limit))
		if whole.overflowed.count() != overflow || merged.overflowed.count() != overflow {
			t.Errorf("seed %d: overflow %d and %d, want %d", seed, whole.overflowed.count(), merged.overflowed.count(), overflow)
		}
	})
}

func TestTableWithoutRows(t *testing.T) {
	table := newTable(0, (*counter).fold)
	count(table, "a")
	count(table, "b")
	count(table, "a")
	if diff := cmp.Diff(map[string]int{otherLabel: 3}, contents(table)); diff != "" {
		t.Error(diff)
	}
	if n := table.overflowed.count(); n != 2 {
		t.Errorf("overflow %d, want 2", n)
	}
}

func TestDistinct(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 1000, maxDistinct, maxDistinct + 1, 500_000} {
		var whole, a, b distinct
		for range n {
			h := r.Uint64() | 1<<63 // hashes of what overflows are the larger ones
			whole.add(h)
			whole.add(h)
			if r.IntN(2) == 0 {
				a.add(h)
			} else {
				b.add(h)
			}
			if r.IntN(10) == 0 {
				b.add(h)
			}
		}
		b.merge(&a)
		if whole.count() != b.count() {
			t.Errorf("%d values: %d in one, %d merged", n, whole.count(), b.count())
		}
		deviation := math.Abs(float64(whole.count())-float64(n)) / max(1, float64(n))
		if n <= maxDistinct && deviation != 0 || deviation > 0.02 {
			t.Errorf("%d values count as %d", n, whole.count())
		}
	}
}

func TestHeap(t *testing.T) {
	seeds(50, func(seed uint64, r *rand.Rand) {
		h := heap[int]{less: func(a, b int) bool { return a < b }}
		kept := map[int]int{}
		for range 1 + r.IntN(40) {
			v := r.IntN(20)
			h.push(v)
			kept[v]++
		}
		for range r.IntN(40) {
			v := r.IntN(20)
			if kept[h.top()]--; kept[h.top()] == 0 {
				delete(kept, h.top())
			}
			h.replaceTop(v)
			kept[v]++
			largest := 0
			for v := range maps.Keys(kept) {
				largest = max(largest, v)
			}
			if h.top() != largest {
				t.Fatalf("seed %d: top %d, want %d", seed, h.top(), largest)
			}
		}
	})
}
