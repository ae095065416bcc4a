package order

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
)

// Rows in any order are sorted as a stable sort does it, also those of several chunks.
func TestRows(t *testing.T) {
	orders := map[string]func(r *rand.Rand, i int) int64{
		"sorted":      func(_ *rand.Rand, i int) int64 { return int64(i) },
		"nearly":      func(r *rand.Rand, i int) int64 { return int64(i) + r.Int64N(1000) },
		"equal":       func(*rand.Rand, int) int64 { return 7 },
		"few times":   func(r *rand.Rand, _ int) int64 { return r.Int64N(5) },
		"random":      func(r *rand.Rand, _ int) int64 { return int64(r.Uint64()) },
		"interleaved": func(_ *rand.Rand, i int) int64 { return int64(i % 50_000) },
		"backwards":   func(_ *rand.Rand, i int) int64 { return int64(-i) },
	}
	cases.Seeds(t, 3, func(seed uint64, r *rand.Rand) {
		var sorter Rows
		for name, order := range orders {
			n := []int{r.IntN(100), chunkRows + r.IntN(2*chunkRows)}[seed%2]
			times, rows := make([]int64, n), make([]int32, n)
			for i := range times {
				times[i], rows[i] = order(r, i), int32(i)
			}
			at := func(r int32) int64 { return times[r] }
			last := func(a, b int32) int { return int(b) - int(a) } // the last row first
			for what, ties := range map[string]func(a, b int32) int{"in order": nil, "by ties": last} {
				want := slices.Clone(rows)
				slices.SortStableFunc(want, func(a, b int32) int {
					if d := cmp.Compare(times[a], times[b]); d != 0 || ties == nil {
						return d
					}
					return ties(a, b)
				})
				got := slices.Clone(rows)
				sorter.Sort(got, at, ties)
				if !slices.Equal(got, want) {
					t.Errorf("seed %d: %d rows, %s, %s: %s", seed, n, name, what, gocmp.Diff(want[:min(n, 100)], got[:min(n, 100)]))
				}
			}
		}
	})
}
