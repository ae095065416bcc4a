package clocks_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// ends returns the ends of collectives for two ranks, a second apart, that differ by so many
// nanoseconds.
func ends(low, high int64, differences ...int64) [][]clocks.End {
	var list [][]clocks.End
	for i, d := range differences {
		at := 1_760_000_000_000_000_000 + int64(i)*1_000_000_000
		list = append(list, []clocks.End{{Rank: high, At: at + d}, {Rank: low, At: at}})
	}
	return list
}

func TestEstimate(t *testing.T) {
	constant := func(d int64, n int) []int64 { return slices.Repeat([]int64{d}, n) }
	known := func(rank, offset int64, via op.Int, n, median, most int64, drift float64) clocks.Offset {
		return clocks.Offset{
			Rank: rank, OffsetNS: offset, Via: via, Collectives: n,
			ResidualMedianNS: op.Known(median), ResidualMaxNS: op.Known(most), DriftNSPerS: op.KnownFloat(drift),
		}
	}
	zero := int64(0)
	for _, test := range []struct {
		name        string
		collectives [][]clocks.End
		want        clocks.Estimate
	}{
		{"nothing", nil, clocks.Estimate{}},
		{"one rank", [][]clocks.End{{{Rank: 3, At: 7}}}, clocks.Estimate{}},
		{"too few", ends(0, 1, constant(100, 4)...), clocks.Estimate{
			Unknown: []clocks.Unknown{{Rank: 0, Collectives: 4}, {Rank: 1, Collectives: 4}},
		}},
		{"just enough", ends(0, 1, constant(100, 5)...), clocks.Estimate{
			Reference: &zero,
			Offsets:   []clocks.Offset{{Rank: 0}, known(1, 100, op.Known(0), 5, 0, 0, 0)},
		}},
		{"behind, with an outlier", ends(0, 1, -100, -90, -110, 5_000_000, -100, -95, -100), clocks.Estimate{
			Reference: &zero,
			Offsets:   []clocks.Offset{{Rank: 0}, known(1, -100, op.Known(0), 7, 5, 5_000_100, 0)},
		}},
		{"drift", ends(0, 1, 0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000), clocks.Estimate{
			Reference: &zero,
			Offsets:   []clocks.Offset{{Rank: 0}, known(1, 4000, op.Known(0), 9, 2000, 4000, 1000)},
		}},
		{"by way of another", slices.Concat(ends(0, 2, constant(10, 6)...), ends(1, 2, constant(-5, 7)...)), clocks.Estimate{
			Reference: &zero,
			Offsets: []clocks.Offset{
				{Rank: 0}, known(1, 15, op.Known(2), 7, 0, 0, 0), known(2, 10, op.Known(0), 6, 0, 0, 0),
			},
		}},
		{"two parts", slices.Concat(ends(0, 1, constant(10, 5)...), ends(2, 3, constant(20, 5)...), ends(3, 4, constant(20, 5)...)),
			clocks.Estimate{
				Reference: new(int64(2)),
				Offsets: []clocks.Offset{
					{Rank: 2}, known(3, 20, op.Known(2), 5, 0, 0, 0), known(4, 40, op.Known(3), 5, 0, 0, 0),
				},
				Unknown: []clocks.Unknown{{Rank: 0, Collectives: 5}, {Rank: 1, Collectives: 5}},
			}},
		{"beyond 73 years", ends(0, 1, constant(1<<61+1, 9)...), clocks.Estimate{
			Unknown: []clocks.Unknown{{Rank: 0, Collectives: 9}, {Rank: 1, Collectives: 9}},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var e clocks.Estimator
			for _, c := range test.collectives {
				e.Add(c)
			}
			test.want.MinCollectives = clocks.MinCollectives
			check.Equal(t, "", test.want, e.Estimate(), cmpopts.EquateEmpty())
		})
	}
}

// Offsets that are known come out within the noise, through groups that overlap, whatever the
// number of collectives; and the drift where there is one.
func TestOffsetsAreRecovered(t *testing.T) {
	cases.Seeds(t, 40, func(seed uint64, r *rand.Rand) {
		ranks := 2 + r.IntN(30)
		noise := 1 + r.Int64N(10_000)
		offsets, drifts := make([]int64, ranks), make([]float64, ranks)
		for i := range offsets {
			offsets[i] = r.Int64N(2_000_000_000) - 1_000_000_000
		}
		drifts[1] = float64(r.IntN(5)) * 10_000 // ns in a second
		var groups [][]int64                    // neighbours, in a chain of groups
		for first := 0; first < ranks-1; {
			last := min(ranks-1, first+1+r.IntN(8))
			var group []int64
			for i := first; i <= last; i++ {
				group = append(group, int64(i))
			}
			groups = append(groups, group)
			first = last
		}
		const seconds = 4
		n := 50 + r.IntN(3000)
		var e clocks.Estimator
		for _, group := range groups {
			for k := range n {
				passed := seconds * float64(k) / float64(n)
				at := 1_760_000_000_000_000_000 + int64(passed*1e9)
				var list []clocks.End
				for _, rank := range group {
					d := offsets[rank] + int64(drifts[rank]*(passed-seconds/2)) + r.Int64N(2*noise+1) - noise
					if r.IntN(20) == 0 {
						d += r.Int64N(1_000_000_000) // learnt of the end late
					}
					list = append(list, clocks.End{Rank: rank, At: at + d})
				}
				r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				e.Add(list)
			}
		}
		est := e.Estimate()
		if len(est.Offsets) != ranks || len(est.Unknown) > 0 || est.Reference == nil || *est.Reference != 0 {
			t.Fatalf("seed %d: the estimate is %+v", seed, est)
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
			// The medians of thirds lie more than half of the time apart. Each is within the noise, and the
			// outliers move it along the drift.
			if drift := o.DriftNSPerS; !drift.Known || math.Abs(drift.V-drifts[1]) > float64(4*noise)/(seconds/2)+drifts[1]/8 {
				t.Errorf("seed %d: the drift is %v, want %v", seed, drift, drifts[1])
			}
		}
	})
}

// Of many collectives some are kept, and the result does not depend on the order within one.
func TestMemoryIsBounded(t *testing.T) {
	var e clocks.Estimator
	collective := make([]clocks.End, 64)
	fill := func(k int) {
		for i := range collective {
			collective[i] = clocks.End{Rank: int64(i), At: int64(k)*1000 + int64(i)*7}
		}
	}
	for k := range 2000 {
		fill(k)
		e.Add(collective)
	}
	k := 0
	allocated := testing.AllocsPerRun(5000, func() {
		fill(2000 + k)
		k++
		e.Add(collective)
	})
	if allocated > 0 {
		t.Errorf("%v allocations per collective", allocated)
	}
	for i, o := range e.Estimate().Offsets {
		if o.OffsetNS != int64(i)*7 || i > 0 && o.Collectives != 7001 {
			t.Errorf("rank %d: %+v", i, o)
		}
	}
}

func FuzzEstimator(f *testing.F) {
	f.Add([]byte{0, 1, 200, 1, 2, 100, 0, 1, 200, 0, 1, 200, 0, 1, 200, 0, 1, 200})
	f.Fuzz(func(t *testing.T, data []byte) {
		var e clocks.Estimator
		for ; len(data) >= 3; data = data[3:] {
			e.Add([]clocks.End{
				{Rank: int64(data[0] % 8), At: int64(data[2]) << (data[1] % 64)},
				{Rank: int64(data[0]%8 + 1 + data[1]%7), At: -int64(data[1]) << (data[2] % 64)},
			})
		}
		est := e.Estimate()
		if est.Reference == nil && len(est.Offsets) > 0 || len(est.Offsets) == 1 {
			t.Errorf("offsets without another rank: %+v", est)
		}
		for _, o := range est.Offsets {
			if o.ResidualMaxNS.V < o.ResidualMedianNS.V || o.ResidualMedianNS.V < 0 || o.Via.Known && o.Collectives < clocks.MinCollectives {
				t.Errorf("%+v", o)
			}
		}
	})
}
