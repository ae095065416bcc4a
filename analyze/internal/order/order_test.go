package order

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// setPartRows sets the rows that are sorted at a time until the test ends.
func setPartRows(t *testing.T, n int) {
	before := partRows
	partRows = n
	t.Cleanup(func() { partRows = before })
}

// Sorting takes the memory of the rows once more, and the keys of a part of them.
func TestRowsTakeLittleMemory(t *testing.T) {
	setPartRows(t, 1<<16)
	rows := make([]int32, 1<<20)
	for i := range rows {
		rows[i] = int32(i)
	}
	at := func(r int32) int64 { return int64(r % 1000 * (1 + r%7)) }
	bytes := check.Allocated(func() { Rows(rows, at, cmp.Compare[int32]) })
	if most := int64(10 * len(rows)); bytes > most {
		t.Errorf("%d bytes, at most %d", bytes, most)
	}
}

// Rows in any order are sorted by time, and then by ties.
func TestRows(t *testing.T) {
	setPartRows(t, 1<<14)
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
		for name, order := range orders {
			n := []int{r.IntN(100), r.IntN(200_000)}[seed%2]
			times := make([]int64, n)
			rows := make([]int32, n)
			for i := range times {
				times[i] = order(r, i)
				rows[i] = int32(i)
			}
			at := func(r int32) int64 { return times[r] }
			last := func(a, b int32) int { return int(b) - int(a) } // the last row first
			want := slices.Clone(rows)
			slices.SortFunc(want, func(a, b int32) int { return cmp.Or(cmp.Compare(times[a], times[b]), last(a, b)) })
			got := slices.Clone(rows)
			Rows(got, at, last)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: %d rows, %s: %s", seed, n, name, gocmp.Diff(want[:min(n, 100)], got[:min(n, 100)]))
			}
		}
	})
}
