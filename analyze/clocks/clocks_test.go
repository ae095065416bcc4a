package clocks

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

// ends returns collectives of two ranks, a second apart, whose ends differ by the given nanoseconds.
func ends(low, high int64, differences ...int64) [][]rankedPart {
	var list [][]rankedPart
	for i, d := range differences {
		at := 1_760_000_000_000_000_000 + int64(i)*1_000_000_000
		list = append(list, []rankedPart{{rank: low, end: at}, {rank: high, end: at + d}})
	}
	return list
}

func TestEstimatesOfSmallInputs(t *testing.T) {
	constant := func(d int64, n int) []int64 { return slices.Repeat([]int64{d}, n) }
	estimates := make(map[string]Estimate)
	for name, collectives := range map[string][][]rankedPart{
		"nothing":                 nil,
		"too few":                 ends(0, 1, constant(100, 4)...),
		"just enough":             ends(0, 1, constant(100, 5)...),
		"behind, with an outlier": ends(0, 1, -100, -90, -110, 5_000_000, -100, -95, -100),
		"drift":                   ends(0, 1, 0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000),
		"by way of another":       slices.Concat(ends(0, 2, constant(10, 6)...), ends(1, 2, constant(-5, 7)...)),
		"beyond 73 years":         ends(0, 1, constant(1<<61+1, 9)...),
		"two parts": slices.Concat(ends(0, 1, constant(10, 5)...), ends(2, 3, constant(20, 5)...),
			ends(3, 4, constant(20, 5)...)),
	} {
		e := newComparison()
		for _, c := range collectives {
			e.add(c)
		}
		estimates[name] = e.estimate()
	}
	golden.JSON(t, "testdata/estimates.json", estimates)
}

// Known offsets are estimated within the noise, through overlapping groups, for any number of collectives. So is a
// drift.
func TestOffsetsAreRecovered(t *testing.T) {
	cases.Seeds(t, 40, func(seed uint64, r *rand.Rand) {
		ranks := 2 + r.IntN(30)
		noise := 1 + r.Int64N(10_000)
		offsets := make([]int64, ranks)
		drifts := make([]float64, ranks)
		for i := range offsets {
			offsets[i] = r.Int64N(2_000_000_000) - 1_000_000_000
		}
		drifts[1] = float64(r.IntN(5)) * 10_000 // ns per second
		const seconds = 4
		n := 50 + r.IntN(3000)
		e := newComparison()
		last := 0
		for first := 0; first < ranks-1; first = last { // neighbours, in a chain of groups
			last = min(ranks-1, first+1+r.IntN(8))
			for k := range n {
				passed := seconds * float64(k) / float64(n)
				at := 1_760_000_000_000_000_000 + int64(passed*1e9)
				var list []rankedPart
				for rank := first; rank <= last; rank++ {
					d := offsets[rank] + int64(drifts[rank]*(passed-seconds/2)) + r.Int64N(2*noise+1) - noise
					if r.IntN(20) == 0 {
						d += r.Int64N(1_000_000_000) // a late record of the end
					}
					list = append(list, rankedPart{rank: int64(rank), end: at + d})
				}
				e.add(list)
			}
		}
		est := e.estimate()
		if len(est.Offsets) != ranks || len(est.Unknown) > 0 || est.Reference == nil || *est.Reference != 0 {
			t.Fatalf("seed %d: the estimate is %+v", seed, est)
		}
		for _, d := range e.pairs {
			if len(d.samples) > maxSamples {
				t.Errorf("seed %d: %d samples are kept", seed, len(d.samples))
			}
		}
		hops := map[int64]int64{0: 0}
		for _, o := range est.Offsets[1:] {
			hops[o.Rank] = hops[o.Via.V] + 1
			// The median of differences with 10 % outliers on one side lies within the noise of both.
			bound := float64(2*noise*hops[o.Rank]) + math.Abs(drifts[1])*seconds/2
			if off := math.Abs(float64(o.OffsetNS - (offsets[o.Rank] - offsets[0]))); off > bound {
				t.Errorf("seed %d: rank %d is off by %v, more than %v: %+v", seed, o.Rank, off, bound, o)
			}
			if o.Via.V != 0 || o.Rank != 1 {
				continue
			}
			// The medians of thirds lie more than half of the time apart. Each is within the noise. Outliers move it
			// along the drift.
			bound = float64(4*noise)/(seconds/2) + drifts[1]/8
			if drift := o.DriftNSPerS; !drift.Known || math.Abs(drift.V-drifts[1]) > bound {
				t.Errorf("seed %d: the drift is %v, want %v", seed, drift, drifts[1])
			}
		}
	})
}

// Clocks are apart if the ends of collectives differ by more than last messages and their own spread explain.
func TestClocksApart(t *testing.T) {
	for _, test := range []struct {
		name     string
		ends     [][]rankedPart
		shortest int64
		want     string
	}{
		{"last messages", ends(0, 1, 40_000, 41_000, 40_000, 42_000, 40_000), 10_000, ""},
		{"a slower rank", ends(0, 1, 400_000, 410_000, 400_000, 390_000, 400_000), 1_000_000, ""},
		{"behind", ends(0, 1, -5_000_000, -5_001_000, -4_999_000, -5_000_000, -5_002_000), 1_000_000,
			"Clocks of ranks differ: rank 1 is 5.00 ms behind the reference, by the ends of 5 collectives"},
		{"no common offset", ends(0, 1, 100_000, -400_000, 500_000, 60_000, -100_000, 300_000), 10_000, ""},
	} {
		c := newComparison()
		for _, parts := range test.ends {
			for i := range parts {
				parts[i].start = parts[i].end - test.shortest
			}
			c.add(parts)
		}
		text := ""
		if o := c.apart(); o != nil {
			text = o.Text()
		}
		check.Equal(t, test.name, test.want, text)
	}
}
