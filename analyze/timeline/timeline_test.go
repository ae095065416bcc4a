package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

func TestTimelineOfAllTimes(t *testing.T) {
	forest := tracetest.AddTo(trace.New(),
		tracetest.OpAt("a", 1, 0, -trace.MaxTime, -trace.MaxTime),
		tracetest.OpAt("b", 2, 0, trace.MaxTime, trace.MaxTime))
	want := []Timeline{{device.Key{DeviceID: "cuda:0"}, &Parts{Span: 2 * trace.MaxTime, Idle: 2 * trace.MaxTime}}}
	check.Equal(t, "timelines", want, Timelines(forest))
}

func naiveParts(specs []tracetest.Spec) *Parts {
	first, last, ok := tracetest.Extent(specs)
	if !ok {
		return nil
	}
	p := &Parts{Span: last - first}
	for at := first; at < last; at++ {
		runs := func(kinds ...op.Kind) bool {
			return slices.ContainsFunc(specs,
				func(s tracetest.Spec) bool { return s.RunsAt(at) && slices.Contains(kinds, s.Kind) })
		}
		compute := runs(op.KindCompute)
		communication := runs(op.KindCollective)
		memory := runs(op.KindMemory)
		other := runs(op.KindIO, op.KindControl, op.KindUnknown)
		count := func(n *int64, happens bool) {
			if happens {
				*n++
			}
		}
		count(&p.Busy, compute || communication || memory || other)
		count(&p.Idle, !compute && !communication && !memory && !other)
		count(&p.Compute, compute)
		count(&p.ExposedCommunication, communication && !compute)
		count(&p.ExposedMemory, memory && !communication && !compute)
		count(&p.Other, other && !memory && !communication && !compute)
		count(&p.Communication, communication)
		count(&p.Memory, memory)
		count(&p.Overlap, communication && compute)
	}
	return p
}

func TestTimelinesAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 500, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(40))
		got := Timelines(tracetest.AddTo(trace.New(), specs...))
		want := []Timeline{}
		for _, key := range tracetest.DevicesOf(specs) {
			want = append(want, Timeline{key, naiveParts(tracetest.OnDevice(specs, key))})
		}
		check.Equal(t, fmt.Sprintf("seed %d: timelines", seed), want, got)
	})
}

func TestOverlapRatio(t *testing.T) {
	if _, ok := (&Parts{Compute: 10}).OverlapRatio(); ok {
		t.Error("there is a ratio without communication")
	}
	if ratio, ok := (&Parts{Communication: 50, Overlap: 20}).OverlapRatio(); !ok || ratio != 0.4 {
		t.Errorf("ratio = %g, %t; want 0.4, true", ratio, ok)
	}
}

func TestSelfTimesAgainstNaive(t *testing.T) {
	cases.Inputs(t, 100, 500, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		forest := tracetest.AddTo(trace.New(), specs...)
		naive := tracetest.NewNaiveTree(specs)
		got := make(map[int]int64)
		for n := range forest.Nodes() {
			if !forest.CountsInSums(n.Row) {
				continue
			}
			self := SelfTimeNS(n)
			got[int(n.Row)] = self
			if self < 0 || self > n.Duration() {
				t.Errorf("seed %d: self time %d of an operation of %d ns", seed, self, n.Duration())
			}
		}
		want := make(map[int]int64)
		sums := make(map[RowID]int64)
		for i, s := range specs {
			if s.IsOp && !naive.Repeat[i] {
				want[i] = naive.Self(i)
				sums[RowID{s.Name, s.Side}] += want[i]
			}
		}
		check.Equal(t, fmt.Sprintf("seed %d: self times", seed), want, got)
		check.Equal(t, fmt.Sprintf("seed %d: sums", seed), sums, OperationSelfTimes(forest))
	})
}

func TestSelfTimesDoNotOverflow(t *testing.T) {
	forest := tracetest.AddTo(trace.New(),
		tracetest.OpAt("relu", 1, 0, 0, 10), tracetest.OpAt("relu", 2, 0, 0, math.MaxInt64).WithoutStart())
	check.Equal(t, "self times", map[RowID]int64{{"relu", op.SideNone}: math.MaxInt64}, OperationSelfTimes(forest))
}

func TestTimeAxis(t *testing.T) {
	from := func(start, end int64) tracetest.Spec { return tracetest.OpAt("a", 1, 0, start, end) }
	axes := make(map[string]TimeAxis)
	for name, tt := range map[string]struct {
		specs   []tracetest.Spec
		buckets int
	}{
		"nothing has a start":                    {[]tracetest.Spec{from(0, 5).WithoutStart()}, 4},
		"no duration":                            {[]tracetest.Spec{from(7, 7)}, 4},
		"fewer nanoseconds than buckets":         {[]tracetest.Spec{from(7, 10)}, 10},
		"the last bucket reaches beyond the end": {[]tracetest.Spec{from(0, 10)}, 4},
		"rounding up leaves fewer buckets":       {[]tracetest.Spec{from(0, 9)}, 7},
		"no buckets":                             {[]tracetest.Spec{from(0, 9)}, 0},
		"too many buckets":                       {[]tracetest.Spec{from(0, 10*maxBuckets)}, 1 << 30},
		"the whole range of times": {[]tracetest.Spec{from(-trace.MaxTime, -trace.MaxTime),
			tracetest.OpAt("b", 2, 0, trace.MaxTime, trace.MaxTime)}, 3},
	} {
		forest := tracetest.AddTo(trace.New(), tt.specs...)
		axes[name] = UseOf(forest, tt.buckets).TimeAxis
		check.Equal(t, name+": axis of memory", axes[name], MemoryOf(forest, tt.buckets).TimeAxis)
	}
	golden.JSON(t, "testdata/axes.json", axes)
}

func TestConcurrencyIsBounded(t *testing.T) {
	forest := trace.New()
	for i := range uint64(maxConcurrency + 100) {
		forest.Add(tracetest.OpAt("a", i+1, 0, 0, 10).Record())
	}
	time := Concurrency(forest)[0].TimeNS
	if len(time) != maxConcurrency+1 || time[maxConcurrency] != 10 {
		t.Errorf("%d levels, %d ns at the highest", len(time), time[len(time)-1])
	}
}

func TestMemoryUseDoesNotOverflow(t *testing.T) {
	const most = 1<<63 - 1
	forest := tracetest.AddTo(trace.New(),
		tracetest.OpAt("a", 1, 0, 0, 40).Writing(most), tracetest.OpAt("b", 2, 0, 10, 60).Writing(most),
		tracetest.OpAt("c", 3, 0, 60, 80).Writing(5),
	)
	m := MemoryOf(forest, 4).Devices[0]
	check.Equal(t, "written", []int64{most, 0, 0, 5}, m.WrittenBytes)
	check.Equal(t, "running", []int64{most, most, most, 5}, m.RunningBytes)
}

func TestUseOverTimeAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 500, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(30))
		forest := tracetest.AddTo(trace.New(), specs...)
		buckets := 1 + r.IntN(tracetest.Horizon)
		u := UseOf(forest, buckets)
		m := MemoryOf(forest, buckets)
		c := Concurrency(forest)
		d := 0
		for _, key := range tracetest.DevicesOf(specs) {
			mine := tracetest.OnDevice(specs, key)
			first, last, ok := tracetest.Extent(mine)
			if !ok {
				continue
			}
			busy := make([]int64, u.Buckets)
			written := make([]int64, u.Buckets)
			running := make([]int64, u.Buckets)
			levels := make([]int64, 1)
			for at := first; at < last; at++ {
				b := (at - u.StartNS) / u.WidthNS
				n := 0
				bytes := int64(0)
				for _, s := range mine {
					if s.RunsAt(at) {
						n++
						bytes += s.Memory
					}
				}
				busy[b] += int64(min(n, 1))
				running[b] = max(running[b], bytes)
				for n >= len(levels) {
					levels = append(levels, 0)
				}
				levels[n]++
			}
			for _, s := range mine {
				if !s.Timeless {
					written[min((s.Start-u.StartNS)/u.WidthNS, int64(u.Buckets-1))] += s.Memory
				}
			}
			check.Equal(t, fmt.Sprintf("seed %d: utilisation", seed), DeviceUtilisation{key, busy}, u.Devices[d])
			check.Equal(t, fmt.Sprintf("seed %d: memory", seed), DeviceMemory{key, written, running}, m.Devices[d])
			check.Equal(t, fmt.Sprintf("seed %d: concurrency", seed), DeviceConcurrency{key, levels}, c[d])
			d++
		}
		if len(u.Devices) != d || len(m.Devices) != d || len(c) != d {
			t.Errorf("seed %d: %d, %d and %d devices, want %d", seed, len(u.Devices), len(m.Devices), len(c), d)
		}
	})
}

func requestForest() *trace.Forest {
	forest := trace.New()
	for rec := range tracetest.Requests(20_000) {
		forest.Add(rec)
	}
	forest.Build()
	return forest
}

func BenchmarkIdleGaps(b *testing.B) {
	forest := requestForest()
	b.ReportAllocs()
	for b.Loop() {
		Idle(forest, 10)
	}
}

func BenchmarkSelfTimes(b *testing.B) {
	forest := requestForest()
	b.ReportAllocs()
	for b.Loop() {
		OperationSelfTimes(forest)
	}
}

func TestIdleLongest(t *testing.T) {
	forest := trace.New()
	at := int64(0)
	for i := range 1000 {
		forest.Add(tracetest.OpAt("op", uint64(i+1), 0, at, at+1).Record())
		at += 1 + int64(i%100) // gaps of 0 to 99 ns, ten times each
	}
	idle := Idle(forest, 12)
	var got []int64
	for _, g := range idle.Longest {
		got = append(got, g.DurationNS)
	}
	check.Equal(t, "longest gaps", []int64{99, 99, 99, 99, 99, 99, 99, 99, 99, 98, 98, 98}, got)
	if !slices.IsSortedFunc(idle.Longest[:9], func(a, b IdleGap) int { return cmp.Compare(a.StartNS, b.StartNS) }) {
		t.Errorf("gaps of the same length are not in the order of time: %+v", idle.Longest)
	}
	check.Equal(t, "gaps", 0, len(Idle(forest, -1).Longest))
	check.Equal(t, "threshold: ns", 30_000, idle.ThresholdNS)
}

func naiveGaps(n *tracetest.NaiveTree, key device.Key, threshold int64) []IdleGap {
	var rows []int
	for i, s := range n.Specs {
		if s.DeviceSide() && s.DeviceKey() == key && !s.Timeless {
			rows = append(rows, i)
		}
	}
	slices.SortFunc(rows, n.CompareStart)
	var gaps []IdleGap
	reached := -1
	for _, r := range rows {
		if reached >= 0 && n.Specs[r].Start > n.Specs[reached].End {
			from, to := n.Specs[reached].End, n.Specs[r].Start
			gaps = append(gaps, IdleGap{
				Key: key, StartNS: from, DurationNS: to - from, Cause: naiveCause(n, r, from, to-from < threshold),
				After: n.Specs[reached].Name, Before: n.Specs[r].Name,
			})
		}
		if reached < 0 || n.Specs[r].End > n.Specs[reached].End {
			reached = r
		}
	}
	return gaps
}

// naiveQuiet counts the nanoseconds of a gap without a request, 0 if an operation of the device has no request.
func naiveQuiet(n *tracetest.NaiveTree, g IdleGap) (quiet int64) {
	for i, s := range n.Specs {
		owner := n.NaiveOwner(i)
		if s.DeviceSide() && !s.Timeless && s.DeviceKey() == g.Key &&
			(owner < 0 || owner >= len(n.Specs) || n.Duplicate[i]) {
			return 0
		}
	}
	for at := g.StartNS; at < g.StartNS+g.DurationNS; at++ {
		asked := false
		for i, s := range n.Specs {
			asked = asked || s.RunsAt(at) && n.NaiveOwner(i) == i
		}
		if !asked {
			quiet++
		}
	}
	return quiet
}

func naiveCause(n *tracetest.NaiveTree, r int, from int64, short bool) IdleCause {
	earliest := n.Specs[r].Launch
	latest := n.Specs[r].Launch
	if !earliest.Known {
		host := n.Parent[r]
		for host >= 0 && n.Specs[host].DeviceSide() {
			host = n.Parent[host]
		}
		if host < 0 || n.Specs[host].Timeless {
			return IdleOther
		}
		earliest = op.Known(n.Specs[host].Start)
		latest = op.Known(n.Specs[host].End)
	}
	switch {
	case earliest.V > from:
		return IdleHost
	case latest.V <= from && short:
		return IdleQueue
	}
	return IdleOther
}

func TestIdleAgainstNaive(t *testing.T) {
	compared := int64(0)
	cases.Inputs(t, 100, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(15))
		if seed%2 == 1 { // put all operations below requests
			for i := range specs {
				if specs[i].IsOp {
					specs[i].Trace = 1
					specs[i].Parent = uint64(1000 + i%2)
				}
			}
			specs = append(specs, tracetest.SpanAt("a", 1000, 0, 0, 40), tracetest.SpanAt("b", 1001, 0, 60, 90))
		}
		forest := tracetest.AddTo(trace.New(), specs...)
		naive := tracetest.NewNaiveTree(specs)
		idle := idleGaps(forest, 20, 5)

		want := []IdleGap{}
		for _, key := range tracetest.DevicesOf(specs) {
			want = append(want, naiveGaps(naive, key, 20)...)
		}
		sums := map[IdleCause]int64{IdleHost: 0, IdleQueue: 0, IdleOther: 0, IdleNoRequest: 0}
		got := maps.Clone(sums)
		defer func() { compared += sums[IdleNoRequest] }()
		for i := range want {
			g := &want[i]
			quiet := naiveQuiet(naive, *g)
			sums[IdleNoRequest] += quiet
			sums[g.Cause] += g.DurationNS - quiet
			if 2*quiet > g.DurationNS {
				g.Cause = IdleNoRequest
			}
		}
		slices.SortStableFunc(want, func(a, b IdleGap) int { return cmp.Compare(b.DurationNS, a.DurationNS) })
		want = want[:min(len(want), 5)]
		check.Equal(t, fmt.Sprintf("seed %d: gaps", seed), want, idle.Longest)
		for _, d := range idle.Devices {
			for cause, s := range map[IdleCause]IdleSum{IdleHost: d.Host, IdleQueue: d.Queue, IdleOther: d.Other,
				IdleNoRequest: d.NoRequest} {
				got[cause] += s.SumNS
			}
		}
		check.Equal(t, fmt.Sprintf("seed %d: sums", seed), sums, got)
	})
	if compared == 0 {
		t.Error("no time without a request was compared")
	}
}
