package table

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

type counter struct{ n int }

func (c *counter) fold(src *counter) { c.n += src.n }

const otherKey = "(other)"

func contents(t *Table[counter]) map[string]int {
	m := map[string]int{}
	for key, row := range t.rows {
		m[key] = row.Value.n
	}
	if t.full {
		m[otherKey] = t.other.Value.n
	}
	return m
}

func count(t *Table[counter], key string) {
	row, _ := t.Row([]byte(key))
	row.Value.n++
}

// For any limit, order of keys and division into parts, the same rows remain, and they are complete.
func TestTableKeepsTheSameRowsInAnyOrder(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		limit := r.IntN(9)
		keys := 1 + r.IntN(20)
		keyLimit := 1 + r.IntN(100)
		New := func(limit int, fold func(dst, src *counter)) *Table[counter] {
			t := New(limit, fold)
			t.keyLimit = keyLimit
			return t
		}
		whole := New(limit, (*counter).fold)
		parts := make([]*Table[counter], 1+r.IntN(5))
		for i := range parts {
			parts[i] = New(limit, (*counter).fold)
		}
		counts := map[string]int{}
		for range r.IntN(300) {
			n := r.IntN(keys)
			key := fmt.Sprint("key", n, strings.Repeat("x", n*7%20))
			counts[key]++
			count(whole, key)
			count(parts[r.IntN(len(parts))], key)
		}
		merged := New(limit, (*counter).fold)
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		for _, part := range parts {
			before := contents(part)
			merged.Merge(part, func(_, _ *counter) {})
			check.Equal(t, fmt.Sprintf("seed %d: merging changed the source", seed), before, contents(part))
		}
		check.Equal(t, fmt.Sprintf("seed %d", seed), contents(whole), contents(merged))
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
			want[otherKey] = rest
		}
		check.Equal(t, fmt.Sprintf("seed %d: a row is not complete", seed), want, contents(whole))
		overflow := int64(len(counts) - len(whole.rows))
		if whole.Overflowed() != overflow || merged.Overflowed() != overflow {
			t.Errorf("seed %d: overflow %d and %d, want %d", seed, whole.Overflowed(), merged.Overflowed(), overflow)
		}
	})
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

func BenchmarkFindRow(b *testing.B) {
	keys := make([][]byte, 1000)
	for i := range keys {
		keys[i] = []byte(fmt.Sprint("operation ", i))
	}
	t := New(len(keys)/2, (*counter).fold)
	b.ReportAllocs()
	for b.Loop() {
		for _, key := range keys {
			row, _ := t.Row(key)
			row.Value.n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/row")
}
