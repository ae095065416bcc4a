package sketch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// nearestRank returns a percentile by its definition: the smallest value not exceeded by at least percent of a hundred.
func nearestRank(values []int64, percent int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	for i, v := range sorted {
		if int64(i+1)*100 >= percent*int64(len(sorted)) {
			return v
		}
	}
	return sorted[len(sorted)-1]
}

// Percentiles are as exact as promised for any distribution, order, and division into merged, written or decoded
// sketches.
func TestSketchAgainstNearestRank(t *testing.T) {
	if _, ok := new(Sketch).Percentile(50); ok {
		t.Error("no values have a percentile")
	}
	for name, draw := range map[string]func(r *rand.Rand) int64{
		"sub-microsecond": func(r *rand.Rand) int64 { return r.Int64N(1000) },
		"exponential":     func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * 1e6) },
		"all magnitudes":  func(r *rand.Rand) int64 { return r.Int64N(math.MaxInt64) >> r.IntN(63) },
		"two peaks":       func(r *rand.Rand) int64 { return []int64{1000, 1e9}[r.IntN(2)] + r.Int64N(10) },
		"mostly zero":     func(r *rand.Rand) int64 { return max(0, r.Int64N(100)-60) },
		"extremes":        func(r *rand.Rand) int64 { return []int64{1, math.MaxInt64}[r.IntN(2)] },
	} {
		cases.Seeds(t, 30, func(seed uint64, r *rand.Rand) {
			values := make([]int64, 1+r.IntN([]int{MaxExact, 300, 3000}[seed%3]))
			var whole, merged Sketch
			parts := make([]Sketch, 1+r.IntN(6))
			for i := range values {
				values[i] = draw(r)
				whole.Add(values[i])
				parts[r.IntN(len(parts))].Add(values[i])
			}
			for i := range parts {
				part := &parts[i]
				if before := part.Form(); r.IntN(2) == 0 {
					again := check.Must(Of(before))(t)
					merged.Merge(&again)
				} else {
					merged.Merge(part)
					check.Equal(t, fmt.Sprintf("%s, seed %d: merging changed the source", name, seed), before,
						part.Form())
				}
			}
			check.Equal(t, fmt.Sprintf("%s, seed %d", name, seed), whole.Form(), merged.Form())
			for _, p := range []int64{1, 50, 90, 95, 99, 100} {
				want := float64(nearestRank(values, p))
				bound := want * RelativeError * (1 + 1e-9) // some room for the rounding of floats
				if len(values) <= MaxExact {
					bound = 0
				}
				got, _ := whole.Percentile(p)
				if again, _ := merged.Percentile(p); got != again || math.Abs(got-want) > bound {
					t.Errorf("%s, seed %d: p%d of %d: %g, merged %g, want %g", name, seed, p, len(values), got,
						again, want)
				}
			}
		})
	}
}

func BenchmarkAddDuration(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	durations := make([]int64, 1000)
	for i := range durations {
		durations[i] = int64(r.ExpFloat64() * 1e6)
	}
	var s Sketch
	b.ReportAllocs()
	for b.Loop() {
		for _, d := range durations {
			s.Add(d)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(durations)), "ns/duration")
}

func TestFormIsChecked(t *testing.T) {
	last := int64(binOf(math.MaxInt64))
	for _, test := range []struct {
		name            string
		durations, bins []int64
		ok              bool
	}{
		{"nothing", nil, nil, true},
		{"durations", []int64{3, 1}, nil, true},
		{"a negative duration", []int64{-1}, nil, false},
		{"too many durations", make([]int64, MaxExact+1), nil, false},
		{"both", []int64{1}, []int64{0, 40}, false},
		{"a bin", nil, []int64{7, 40}, true},
		{"the last bin", nil, []int64{last, 40}, true},
		{"empty bins", nil, []int64{7, 40, -3, 1}, true},
		{"few durations", nil, []int64{7, MaxExact}, false},
		{"no count", nil, []int64{7}, false},
		{"a count of 0", nil, []int64{7, 40, 0, 1}, false},
		{"empty bins at the end", nil, []int64{7, 40, -1}, false},
		{"a bin in front", nil, []int64{-1, 40}, false},
		{"a bin behind", nil, []int64{last + 1, 40}, false},
		{"a bin far behind", nil, []int64{7, 40, math.MinInt64, 1}, false},
		{"one bin too many", nil, []int64{last, 40, 1}, false},
		{"too large a count", nil, []int64{7, maxCount, 1}, false},
	} {
		if _, err := Of(Form{test.durations, test.bins}); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestMedianAgainstNearestRank(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		values := make([]int64, 1+r.IntN(200))
		most := 1 + r.Int64N(300) // few have many equal values
		for i := range values {
			values[i] = r.Int64N(most) - most/2
		}
		if r.IntN(3) == 0 {
			slices.Sort(values)
		}
		before := slices.Clone(values)
		check.Equal(t, fmt.Sprint("seed ", seed), nearestRank(values, 50), Median(values))
		check.Equal(t, "values", before, values)
	})
}
