package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

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

// naiveGaps finds the gaps of a device nanosecond by nanosecond.
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
