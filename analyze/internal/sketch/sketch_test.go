package sketch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// nearestRank is the definition of a percentile: the smallest value that at
// least percent of a hundred do not exceed.
func nearestRank(values []int64, percent int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	for i, v := range sorted {
		if int64(i+1)*100 >= percent*int64(len(sorted)) {
			return v
		}
	}
	return sorted[len(sorted)-1]
}

var percents = []int64{1, 50, 90, 95, 99, 100}

func TestSketchSmallIsExact(t *testing.T) {
	if _, ok := new(Sketch).Percentile(50); ok {
		t.Error("no values have a percentile")
	}
	cases.Seeds(t, 50, func(seed uint64, r *rand.Rand) {
		values := make([]int64, 1+r.IntN(MaxExact))
		var s Sketch
		for i := range values {
			values[i] = r.Int64N(50)
			s.Add(values[i])
		}
		for _, p := range percents {
			if got, _ := s.Percentile(p); got != float64(nearestRank(values, p)) {
				t.Errorf("seed %d: p%d of %d: %g, want %d", seed, p, values, got, nearestRank(values, p))
			}
		}
	})
}

func TestSketchRelativeError(t *testing.T) {
	distributions := map[string]func(r *rand.Rand) int64{
		"sub-microsecond": func(r *rand.Rand) int64 { return r.Int64N(1000) },
		"exponential":     func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * 1e6) },
		"all magnitudes":  func(r *rand.Rand) int64 { return r.Int64N(math.MaxInt64) >> r.IntN(63) },
		"two peaks":       func(r *rand.Rand) int64 { return []int64{1000, 1e9}[r.IntN(2)] + r.Int64N(10) },
		"mostly zero":     func(r *rand.Rand) int64 { return max(0, r.Int64N(100)-60) },
		"extremes":        func(r *rand.Rand) int64 { return []int64{1, math.MaxInt64}[r.IntN(2)] },
	}
	for name, draw := range distributions {
		cases.Seeds(t, 5, func(seed uint64, r *rand.Rand) {
			values := make([]int64, 5000)
			var s Sketch
			for i := range values {
				values[i] = draw(r)
				s.Add(values[i])
			}
			for _, p := range percents {
				got, _ := s.Percentile(p)
				want := float64(nearestRank(values, p))
				// The bound of the sketch, with some room for the rounding of floats.
				if math.Abs(got-want) > want*RelativeError*(1+1e-9) {
					t.Errorf("%s, seed %d: p%d: %g, want %g", name, seed, p, got, want)
				}
			}
		})
	}
}

// Neither the order of the durations nor their distribution over sketches changes an answer: of few and of many,
// and of some that are far away from the others.
func TestSketchMergeDoesNotDependOnOrder(t *testing.T) {
	cases.Seeds(t, 50, func(seed uint64, r *rand.Rand) {
		values := make([]int64, 1+r.IntN([]int{300, 3000}[seed%2]))
		var whole Sketch
		parts := make([]Sketch, 1+r.IntN(6))
		for i := range values {
			values[i] = 1_000_000 + r.Int64N(500_000)
			if r.IntN(10) == 0 {
				values[i] = r.Int64() >> r.IntN(64)
			}
			whole.Add(values[i])
			parts[r.IntN(len(parts))].Add(values[i])
		}
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		var merged Sketch
		for i := range parts {
			before := parts[i].Form()
			merged.Merge(&parts[i])
			check.Equal(t, fmt.Sprintf("seed %d: merging changed the source", seed), before, parts[i].Form())
		}
		check.Equal(t, fmt.Sprintf("seed %d", seed), whole.Form(), merged.Form())
		for _, p := range percents {
			want := float64(nearestRank(values, p))
			got, _ := whole.Percentile(p)
			if again, _ := merged.Percentile(p); got != again || math.Abs(got-want) > want*RelativeError {
				t.Errorf("seed %d: p%d: %g, merged %g, want %g", seed, p, got, again, want)
			}
		}
	})
}
