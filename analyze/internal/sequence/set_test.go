package sequence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestMissing(t *testing.T) {
	for _, tc := range []struct {
		name    string
		values  []int64
		ranges  [][2]int64
		missing int64
	}{
		{"in order", []int64{0, 1, 2}, [][2]int64{{0, 2}}, 0},
		{"a hole", []int64{0, 1, 4}, [][2]int64{{0, 1}, {4, 4}}, 2},
		{"a hole that closes", []int64{0, 2, 1}, [][2]int64{{0, 2}}, 0},
		{"the smallest, twice", []int64{math.MinInt64, math.MinInt64}, [][2]int64{{math.MinInt64, math.MinInt64}}, 0},
		{"extremes", []int64{math.MinInt64, math.MaxInt64}, [][2]int64{
			{math.MinInt64, math.MinInt64}, {math.MaxInt64, math.MaxInt64},
		}, math.MaxInt64},
	} {
		var s Set
		for _, n := range tc.values {
			s.Add(n)
		}
		check.Equal(t, tc.name, tc.ranges, s.Ranges)
		check.Equal(t, fmt.Sprintf("%s: missing", tc.name), tc.missing, s.Missing())
		before := int64(0)
		if len(tc.values) > 0 {
			before = max(0, slices.Min(tc.values))
		}
		check.Equal(t, fmt.Sprintf("%s: before", tc.name), before, s.Before())
	}
}

func TestMissingAgainstMap(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		var a, b Set
		set := map[int64]bool{}
		low := int64(math.MaxInt64)
		high := int64(math.MinInt64)
		for range r.IntN(60) {
			n := r.Int64N(50)
			set[n] = true
			low = min(low, n)
			high = max(high, n)
			if r.IntN(2) == 0 {
				a.Add(n)
			} else {
				b.Add(n)
			}
		}
		a.Merge(&b)
		want := int64(0)
		for n := low; n < high; n++ {
			if !set[n] {
				want++
			}
		}
		if a.Missing() != want {
			t.Errorf("seed %d: %d missing, want %d of %v", seed, a.Missing(), want, set)
		}
	})
}
