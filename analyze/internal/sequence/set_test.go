package sequence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
)

func TestMissing(t *testing.T) {
	for _, tc := range []struct {
		name    string
		values  []int64
		ranges  []numbers
		missing int64
	}{
		{"none", nil, nil, 0},
		{"in order", []int64{0, 1, 2}, []numbers{{0, 2}}, 0},
		{"backwards", []int64{2, 1, 0}, []numbers{{0, 2}}, 0},
		{"a hole", []int64{0, 1, 4}, []numbers{{0, 1}, {4, 4}}, 2},
		{"a hole that closes", []int64{0, 2, 1}, []numbers{{0, 2}}, 0},
		{"twice", []int64{3, 3, 4, 3}, []numbers{{3, 4}}, 0},
		{"starting late", []int64{7, 8}, []numbers{{7, 8}}, 0},
		{"the smallest, twice", []int64{math.MinInt64, math.MinInt64}, []numbers{{math.MinInt64, math.MinInt64}}, 0},
		{"extremes", []int64{math.MinInt64, math.MaxInt64}, []numbers{
			{math.MinInt64, math.MinInt64}, {math.MaxInt64, math.MaxInt64},
		}, math.MaxInt64},
	} {
		var s Set
		for _, n := range tc.values {
			s.Add(n)
		}
		if diff := cmp.Diff(tc.ranges, s.ranges, cmp.AllowUnexported(numbers{})); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		if s.Missing() != tc.missing {
			t.Errorf("%s: %d missing, want %d", tc.name, s.Missing(), tc.missing)
		}
		before := int64(0)
		if len(tc.values) > 0 {
			before = max(0, slices.Min(tc.values))
		}
		if got := s.Before(); got != before {
			t.Errorf("%s: %d before, want %d", tc.name, got, before)
		}
	}
}

func TestMissingAgainstMap(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		var a, b Set
		set := map[int64]bool{}
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for range r.IntN(60) {
			n := r.Int64N(50)
			set[n] = true
			low, high = min(low, n), max(high, n)
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
