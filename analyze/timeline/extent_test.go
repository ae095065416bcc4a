package timeline_test

import (
	"cmp"
	"fmt"
	"maps"
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
	called := 0
	cases.Inputs(t, 100, 2000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, 1+r.IntN(12))
		f := tracetest.AddTo(trace.New(), specs...)
		calls := addCalls(f, r)
		e := timeline.ExtentOf(f)
		got := make(map[string]int64)
		host := int64(0)
		for _, c := range e.Calls {
			got[c.Operation] = c.TimeNS
		}
		for _, h := range e.Host {
			host += h.TimeNS
		}
		want, wantHost := naiveHost(tracetest.NewNaiveTree(specs), calls, e)
		if !maps.Equal(got, want) || host != wantHost || e.HostNS != wantHost {
			t.Errorf("seed %d: calls %v, want %v; the host %d and %d ns, want %d", seed, got, want, host, e.HostNS,
				wantHost)
		}
		called += len(want)
	})
	if called == 0 {
		t.Error("no call was under way while a device was idle")
	}
}

// addCalls adds random calls to f.
func addCalls(f *trace.Forest, r *rand.Rand) (calls []trace.Call) {
	for i := range r.IntN(8) {
		c := trace.Call{Name: fmt.Sprint("call", i), Start: r.Int64N(60), Duration: 1 + r.Int64N(20)}
		if r.IntN(2) == 0 {
			c.Rank = op.Known(r.Int64N(2))
		}
		f.Add(op.Record{Call: &op.Entry{Operation: c.Name, Rank: c.Rank, Start: op.Known(c.Start),
			Duration: c.Duration}})
		calls = append(calls, c)
	}
	return calls
}

// naiveHost examines each nanosecond of e on each device.
func naiveHost(n *tracetest.NaiveTree, calls []trace.Call, e *timeline.Extent) (times map[string]int64, host int64) {
	times = make(map[string]int64)
	devices := e.Devices
	if len(devices) == 0 {
		devices = []timeline.DeviceWork{{Key: device.Key{}}}
	}
	for _, d := range devices {
		ranked := false // the device's rank has host operations
		for i, s := range n.Specs {
			ranked = ranked || s.IsOp && !s.DeviceSide() && !s.Timeless && !n.Repeat[i] && s.End > s.Start &&
				d.Rank.Known && s.Rank == d.Rank
		}
		for at := e.StartNS; at < e.StartNS+e.DurationNS; at++ {
			var busy, onHost bool
			for i, s := range n.Specs {
				switch {
				case n.Repeat[i] || !s.RunsAt(at):
				case s.DeviceSide():
					busy = busy || s.DeviceKey() == d.Key
				default:
					onHost = onHost || !ranked || s.IsOp && s.Rank == d.Rank
				}
			}
			switch last := lastCall(calls, d.Rank, at); {
			case busy:
			case onHost:
				host++
			case last != nil:
				times[last.Name]++
			}
		}
	}
	return times, host
}

// lastCall returns the running call of a rank that started last, any rank's if unknown. Ties go to shorter calls, then
// to the last name.
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
