package timeline_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Idle time of a device belongs to the last started host operation or span, or else to the last started call.
func TestExtentAgainstNaive(t *testing.T) {
	hosts, called := 0, 0
	cases.Inputs(t, 100, 2000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, 1+r.IntN(someOrMany(r)))
		for i := range specs {
			specs[i].Service = "" // services have rows of their own
		}
		f := tracetest.AddTo(trace.New(), specs...)
		calls := addCalls(f, r)
		e := timeline.ExtentOf(f)
		got := make(map[string]timeline.HostTime)
		host := int64(0)
		for _, c := range e.Calls {
			got[c.Operation] = timeline.HostTime{TimeNS: c.TimeNS, Longest: c.Longest}
		}
		for _, h := range e.Host {
			host += h.TimeNS
			got[fmt.Sprint(h.Operation, h.IsOp)] = timeline.HostTime{TimeNS: h.TimeNS, Longest: h.Longest}
		}
		check.Equal(t, fmt.Sprint("seed ", seed, ": the host's time"), e.HostNS, host)
		if want, unclear := naiveHost(tracetest.NewNaiveTree(specs), calls, e); !unclear {
			check.Equal(t, fmt.Sprint("seed ", seed), want, got)
			hosts += len(e.Host)
			called += len(e.Calls)
		}
	})
	if called == 0 || hosts == 0 {
		t.Errorf("%d operations and %d calls of the host were under way while a device was idle", hosts, called)
	}
}

// someOrMany returns a number of operations, sometimes one with more of them in an idle time than are walked at once.
func someOrMany(r *rand.Rand) int {
	if r.IntN(4) == 0 {
		return 100
	}
	return 12
}

// addCalls adds random calls to f.
func addCalls(f *trace.Forest, r *rand.Rand) (calls []trace.Call) {
	for i := range r.IntN(someOrMany(r)) {
		c := trace.Call{Name: fmt.Sprint("call", i%12), Start: r.Int64N(60), Duration: 1 + r.Int64N(20)}
		if r.IntN(2) == 0 {
			c.Rank = op.Known(r.Int64N(2))
		}
		f.Add(op.Record{Call: &op.Entry{Operation: c.Name, Rank: c.Rank, Start: op.Known(c.Start),
			Duration: c.Duration}})
		calls = append(calls, c)
	}
	return calls
}

// naiveHost examines each nanosecond of e on each device. The result is unclear if two different rows start and end
// together.
func naiveHost(n *tracetest.NaiveTree, calls []trace.Call, e *timeline.Extent) (
	times map[string]timeline.HostTime, unclear bool,
) {
	times = make(map[string]timeline.HostTime)
	devices := e.Devices
	if len(devices) == 0 {
		devices = []timeline.DeviceWork{{Key: device.Key{}}}
	}
	for _, d := range devices {
		ranked := false // the device's rank has host operations
		for i, s := range n.Specs {
			ranked = ranked || !s.DeviceSide() && !s.Timeless && !n.Repeat[i] && s.End > s.Start &&
				d.Rank.Known && naiveRank(n, i) == d.Rank
		}
		var gap timeline.HostGap
		within := make(map[string]int64)
		endGap := func() {
			for name, ns := range within {
				g := gap
				g.HostNS = ns
				sum := times[name]
				sum.TimeNS += ns
				l := sum.Longest
				if cmp.Or(cmp.Compare(g.HostNS, l.HostNS), cmp.Compare(l.StartNS, g.StartNS),
					cmp.Compare(g.DurationNS, l.DurationNS), l.Key.Compare(g.Key)) > 0 {
					sum.Longest = g
				}
				times[name] = sum
			}
			clear(within)
			gap = timeline.HostGap{}
		}
		for at := e.StartNS; at < e.StartNS+e.DurationNS; at++ {
			busy := false
			var last *tracetest.Spec
			for i := range n.Specs {
				s := &n.Specs[i]
				switch {
				case n.Repeat[i] || s.Timeless:
				case s.DeviceSide() && s.DeviceKey() == d.Key && s.Start == at && s.End == at:
					endGap() // an operation without a duration is between two gaps
				case !s.RunsAt(at):
				case s.DeviceSide():
					busy = busy || s.DeviceKey() == d.Key
				case ranked && naiveRank(n, i) != d.Rank:
				case last == nil || s.Start > last.Start || s.Start == last.Start && s.End < last.End:
					last = s
				case s.Start == last.Start && s.End == last.End:
					unclear = unclear || s.IsOp != last.IsOp || s.Name != last.Name
				}
			}
			if busy {
				endGap()
				continue
			}
			if gap.DurationNS == 0 {
				gap = timeline.HostGap{Key: d.Key, StartNS: at}
			}
			gap.DurationNS++
			if last != nil {
				within[fmt.Sprint(last.Name, last.IsOp)]++
			} else if c := lastCall(calls, d.Rank, at); c != nil {
				within[c.Name]++
			}
		}
		endGap()
	}
	return times, unclear
}

// naiveRank returns the rank of an operation. A span has one if all operations in its trace have it.
func naiveRank(n *tracetest.NaiveTree, i int) op.Int {
	s := &n.Specs[i]
	if s.IsOp {
		return s.Rank
	}
	ranks := make(map[op.Int]bool)
	for above := i; above >= 0 && len(ranks) == 0; above = n.Parent[above] {
		for k := range n.Specs {
			isBelow := false
			for p := n.Parent[k]; p >= 0; p = n.Parent[p] {
				isBelow = isBelow || p == above
			}
			if n.Specs[k].IsOp && (isBelow || k == above) {
				ranks[n.Specs[k].Rank] = true
			}
		}
	}
	none := len(ranks) == 0
	for k := range n.Specs {
		if o := &n.Specs[k]; none && o.IsOp && o.Trace == s.Trace {
			ranks[o.Rank] = true
		}
	}
	for rank := range ranks {
		if len(ranks) == 1 {
			return rank
		}
	}
	return op.Int{}
}

// lastCall returns the last running call of a rank to start, any rank's if unknown. Ties go to shorter calls, then to the
// last name.
func lastCall(calls []trace.Call, rank op.Int, at int64) (last *trace.Call) {
	for i := range calls {
		c := &calls[i]
		if rank.Known && c.Rank != rank || at < c.Start || at >= c.Start+c.Duration {
			continue
		}
		if last == nil || cmp.Or(cmp.Compare(c.Start, last.Start), cmp.Compare(last.Duration, c.Duration),
			cmp.Compare(c.Name, last.Name)) > 0 {
			last = c
		}
	}
	return last
}

// Merge combines calls, and Shift drops them.
func TestCallsOfForests(t *testing.T) {
	of := func(name string) *trace.Forest {
		f := tracetest.AddTo(trace.New(), tracetest.OpAt("a", 1, 0, 0, 5), tracetest.OpAt("b", 2, 0, 15, 20))
		rank := op.Known(int64(len(name) - 1))
		f.Add(op.Record{Call: &op.Entry{Operation: name, Rank: rank, Start: op.Known(5), Duration: 10}})
		return f
	}
	f := of("x")
	other := of("y")
	f.Merge(other)
	f.Merge(of("z"))
	f.Build()
	check.Equal(t, "calls", 3, len(f.Calls))
	check.Equal(t, "calls of the part without the first row", 3,
		len(f.Without([]bool{true, false, false, false, false, false}).Calls))
	f.Shift(make([]int64, f.Len()), map[int64]int64{0: 3})
	check.Equal(t, "calls on the rank's clock", int64(2), f.Calls[0].Start)
	f.Shift(make([]int64, f.Len()), map[int64]int64{1: 3})
	check.Equal(t, "calls of another clock", 0, len(f.Calls))
}
