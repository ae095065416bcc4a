package analyze

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSequences(t *testing.T) {
	for _, tc := range []struct {
		name    string
		numbers []int64
		ranges  []sequenceRange
		missing int64
	}{
		{"none", nil, nil, 0},
		{"in order", []int64{0, 1, 2}, []sequenceRange{{0, 2}}, 0},
		{"backwards", []int64{2, 1, 0}, []sequenceRange{{0, 2}}, 0},
		{"a hole", []int64{0, 1, 4}, []sequenceRange{{0, 1}, {4, 4}}, 2},
		{"a hole that closes", []int64{0, 2, 1}, []sequenceRange{{0, 2}}, 0},
		{"twice", []int64{3, 3, 4, 3}, []sequenceRange{{3, 4}}, 0},
		{"starting late", []int64{7, 8}, []sequenceRange{{7, 8}}, 0},
		{"the smallest, twice", []int64{math.MinInt64, math.MinInt64}, []sequenceRange{{math.MinInt64, math.MinInt64}}, 0},
		{"extremes", []int64{math.MinInt64, math.MaxInt64}, []sequenceRange{
			{math.MinInt64, math.MinInt64}, {math.MaxInt64, math.MaxInt64},
		}, math.MaxInt64},
	} {
		var s sequences
		for _, n := range tc.numbers {
			s.add(n)
		}
		if diff := cmp.Diff(tc.ranges, s.ranges, cmp.AllowUnexported(sequenceRange{})); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		if s.missing() != tc.missing {
			t.Errorf("%s: %d missing, want %d", tc.name, s.missing(), tc.missing)
		}
	}
}

func TestSequencesAgainstSet(t *testing.T) {
	seeds(200, func(seed uint64, r *rand.Rand) {
		var a, b sequences
		set := map[int64]bool{}
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for range r.IntN(60) {
			n := r.Int64N(50)
			set[n] = true
			low, high = min(low, n), max(high, n)
			if r.IntN(2) == 0 {
				a.add(n)
			} else {
				b.add(n)
			}
		}
		a.merge(&b)
		want := int64(0)
		for n := low; n < high; n++ {
			if !set[n] {
				want++
			}
		}
		if a.missing() != want {
			t.Errorf("seed %d: %d missing, want %d of %v", seed, a.missing(), want, set)
		}
	})
}
