package replay_test

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// recordedOf returns a recording of operations below a step of 100 ms. Times are in µs; launch -1 is none.
func recordedOf(ops ...timed) *replay.Graph {
	const us = 1_000
	f := trace.New()
	f.Add(op.Record{Span: &op.Span{
		Name: "step", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(1e18), Duration: 100 * ms,
	}})
	for i, o := range ops {
		e := op.Entry{
			Operation: o.name, DeviceID: "cpu", Side: o.side, TraceID: op.TraceID{1}, ParentSpanID: op.SpanID{1},
			SpanID: op.SpanID{2, byte(i >> 8), byte(i)}, Start: op.Known(1e18 + o.start*us), Duration: o.took * us,
		}
		if o.launch >= 0 {
			e.Launch = op.Known(1e18 + o.launch*us)
		}
		f.Add(op.Record{Entry: &e})
	}
	return replay.New(f)
}

// timed is an operation with its times.
type timed struct {
	name                string
	side                op.Side
	launch, start, took int64
}

// All time beside operations without a launch is the host's: 10 and 20 ms before them, and 40 ms after.
func TestHostsWorkBetweenOperationsWithoutALaunch(t *testing.T) {
	g := recordedOf(timed{"matmul", 0, -1, 10_000, 20_000}, timed{"relu", 0, -1, 50_000, 10_000})
	check.Equal(t, "saved by half of the host's time", int64(35*ms), saved(t, g, "host 0.5x"))
}

// A call of the runtime far behind the last operation and span, as of a profiler that stops, is no part of the run.
func TestCallsBehindTheRun(t *testing.T) {
	const start = int64(1e18)
	f := trace.New()
	for i := range int64(10) {
		at := start + i*20*ms
		f.Add(op.Record{Entry: &op.Entry{
			Operation: "prepare", Side: op.SideHost, TraceID: op.TraceID{1}, SpanID: op.SpanID{1, byte(i)},
			Start: op.Known(at), Duration: ms,
		}})
		f.Add(op.Record{Entry: &op.Entry{
			Operation: "matmul", DeviceID: "cuda:0", TraceID: op.TraceID{1}, ParentSpanID: op.SpanID{1, byte(i)},
			SpanID: op.SpanID{2, byte(i)}, Launch: op.Known(at + ms/2), Start: op.Known(at + ms), Duration: ms,
		}})
	}
	f.Add(op.Record{Call: &op.Entry{
		Operation: "cudaDeviceSynchronize", Side: op.SideHost, Start: op.Known(start + 1_000*ms), Duration: ms,
	}})
	g := replay.New(f)
	if got := saved(t, g, "pauses"); got > 9*19*ms {
		t.Errorf("saved %d ms of a run of 182 ms", got/ms)
	}
}

// An operation of the host that synchronizes ends after the work of the device.
func TestAHostsOperationWaitsForTheDevice(t *testing.T) {
	g := recordedOf(timed{"matmul", 0, 1_000, 2_000, 50_000},
		timed{"deviceSynchronize", op.SideHost, -1, 3_000, 50_000}, timed{"prepare", op.SideHost, -1, 53_000, 47_000})
	check.Equal(t, "saved by half of the operation", int64(25*ms), saved(t, g, "0.5x matmul"))
	const usual = 10_000 // after the last operation
	check.Equal(t, "saved without the wait", int64(48*ms-usual), saved(t, g, "nowait deviceSynchronize"))
}

// A host without a record of its waits waits for its launches if it goes on soon after work of any length, and not if
// the work ends within times of its own.
func TestAHostDrainsItsLaunches(t *testing.T) {
	for behind, want := range map[bool]int64{true: 20 * ms, false: 0} {
		var ops []timed
		at, all := int64(0), int64(0)
		for i := range int64(20) {
			took := 1_000 + 500*(i%5)
			ops = append(ops, timed{"matmul", 0, at, at + 5, took})
			all += took
			if at += 5_000; behind {
				at += took - 4_500
			}
		}
		g := recordedOf(ops...)
		if ns := saved(t, g, "0.5x matmul"); ns < want-2*ms || ns > want+2*ms {
			t.Errorf("behind its launches %v: half of %d us saves %d ns, want %d", behind, all, ns, want)
		}
	}
}

// A launch that is recorded as a point in time takes the time before it, as launches usually do.
func TestLaunchesWithoutADurationGoWithTheirOperations(t *testing.T) {
	var ops []timed
	for i := range int64(300) {
		ops = append(ops, timed{string("abc"[i%3]), 0, 300 * i, 300*i + 3, 1})
	}
	g := recordedOf(ops...)
	for change, removed := range map[string]int64{"remove b": 100, "fuse a;b;c": 200} {
		const each = 300_000
		if ns := saved(t, g, change); ns < (removed-1)*each || ns > removed*each {
			t.Errorf("%s saves %d ns, not the %d launches", change, ns, removed)
		}
	}
}

// A program that pauses before each operation, with and without one of them. What the host does for each of many
// operations goes with the operation.
func TestAPauseBeforeARemovedOperationStays(t *testing.T) {
	run := func(names ...string) (ops []timed, ends int64) {
		for _, name := range names {
			ends += 10_000 // the pause
			if name != "" {
				ops = append(ops, timed{name, 0, -1, ends, 10_000})
				ends += 10_000
			}
		}
		return ops, ends
	}
	ops, ends := run("matmul", "send", "relu")
	_, without := run("matmul", "", "relu")
	check.Equal(t, "saved", (ends-without)*1_000, saved(t, recordedOf(ops...), "remove send"))
	ops = nil
	for i := range int64(300) {
		ops = append(ops, timed{string("abc"[i%3]), 0, -1, 30 * i, 10})
	}
	check.Equal(t, "saved with the usual time", int64(100*30_000), saved(t, recordedOf(ops...), "remove b"))
}

// An operation of the host that is taken out takes the ones within it along.
func TestOperationsWithinOneGoWithIt(t *testing.T) {
	f := trace.New()
	for i, o := range []timed{
		{"dropout", op.SideHost, -1, 0, 60}, {"mul", op.SideHost, -1, 10, 50}, {"mm", op.SideHost, -1, 60, 40},
	} {
		e := op.Entry{
			Operation: o.name, Side: o.side, TraceID: op.TraceID{1}, SpanID: op.SpanID{byte(i + 1)},
			Start: op.Known(1e18 + o.start*ms), Duration: o.took * ms,
		}
		if i == 1 {
			e.ParentSpanID = op.SpanID{1}
		}
		f.Add(op.Record{Entry: &e})
	}
	check.Equal(t, "saved", int64(60*ms), saved(t, replay.New(f), "remove dropout"))
}

// A change of a rank's host leaves the hosts of others alone.
func TestTheHostOfARank(t *testing.T) {
	f := trace.New()
	for rank, starts := range [][]int64{{0, 10, 20}, {0, 50}} {
		for _, start := range starts {
			f.Add(op.Record{Entry: &op.Entry{
				Operation: "matmul", DeviceID: "cpu", Rank: op.Known(int64(rank)), Start: op.Known(1e18 + start*ms), Duration: 10 * ms,
			}})
		}
	}
	g := replay.New(f)
	check.Equal(t, "saved by the host of rank 1", int64(20*ms), saved(t, g, "host 0.5x rank=1"))
	check.Equal(t, "saved by the host of rank 0", int64(0), saved(t, g, "host 0.5x rank=0"))
}

// An operation of the host that reads a value waits for the copy that it launches.
func TestAReadWaitsForItsCopy(t *testing.T) {
	g := recordedOf(timed{"matmul", 0, 1_000, 2_000, 50_000}, timed{"item", op.SideHost, -1, 3_000, 50_000},
		timed{"copy", 0, 4_000, 52_100, 500}, timed{"prepare", op.SideHost, -1, 53_000, 47_000})
	check.Equal(t, "saved by half of the operation", int64(25*ms), saved(t, g, "0.5x matmul"))
}

// hostedBy returns a recording of operations of a host and those that it launches in calls of 2 µs, on the threads of two
// ranks with one number. Times are in µs.
func hostedBy(calls []trace.Call, ops ...timed) *replay.Graph {
	const us = 1_000
	f := trace.New()
	thread := op.Attr{Key: "thread.id", Type: op.AttrInt, Value: "7"}
	for rank := range int64(2) {
		for i, o := range ops {
			e := op.Entry{
				Operation: o.name, Side: o.side, Kind: op.KindCompute, Rank: op.Known(rank), Step: op.Known(int64(0)),
				TraceID: op.TraceID{1}, SpanID: op.SpanID{byte(rank), byte(i >> 8), byte(i)},
				Start: op.Known(1e18 + (o.start+rank*100)*us), Duration: o.took * us, Attrs: []op.Attr{thread},
			}
			if o.launch >= 0 {
				e.DeviceID = fmt.Sprintf("cuda:%d", rank)
				e.Stream = op.Known(int64(0))
				e.Launch = op.Known(1e18 + (o.launch+rank*100)*us)
				e.Attrs = append(e.Attrs, op.Attr{Key: "tensor.launch.duration", Type: op.AttrInt, Value: "2000"})
			}
			f.Add(op.Record{Entry: &e})
		}
		for _, c := range calls {
			f.Add(op.Record{Call: &op.Entry{
				Operation: c.Name, Rank: op.Known(rank), Start: op.Known(1e18 + (c.Start+rank*100)*us),
				Duration: c.Duration * us, Attrs: []op.Attr{thread},
			}})
		}
	}
	return replay.New(f)
}

// A removed range takes along the time in which the host recorded nothing within it: 4 ms behind each of two copies.
func TestARemovedRangeTakesItsTimeAlong(t *testing.T) {
	g := hostedBy([]trace.Call{
		{Name: "save", Start: 1_000, Duration: 10_000}, {Name: "cudaStreamSynchronize", Start: 1_010, Duration: 1_000},
		{Name: "cudaStreamSynchronize", Start: 6_010, Duration: 1_000},
	}, timed{"copy", 0, 1_000, 1_012, 990}, timed{"copy", 0, 6_000, 6_012, 990}, timed{"matmul", 0, 11_010, 11_020, 9_000})
	if ns := saved(t, g, "remove save"); ns < 10*ms-100_000 || ns > 10*ms+100_000 {
		t.Errorf("saved %d ns, want about 10 ms", ns)
	}
}

// A removed range takes its own time along where the host records nothing: 6 ms of 9 ms between two launches.
func TestARemovedRangeBetweenTwoEvents(t *testing.T) {
	g := hostedBy([]trace.Call{{Name: "save", Start: 2_000, Duration: 6_000}},
		timed{"matmul", 0, 0, 5, 900}, timed{"matmul", 0, 9_000, 9_005, 900})
	if ns := saved(t, g, "remove save"); ns < 6*ms-100_000 || ns > 6*ms+100_000 {
		t.Errorf("saved %d ns, want about 6 ms", ns)
	}
}

// A read that is taken out takes its copy and its wait along, and of the times before and after it the longer one stays.
func TestARemovedReadDoesNotWait(t *testing.T) {
	g := hostedBy([]trace.Call{{Name: "cudaStreamSynchronize", Start: 25, Duration: 487}},
		timed{"matmul", 0, 2, 10, 490}, timed{"aten::item", op.SideHost, -1, 14, 500}, timed{"copy", 0, 20, 505, 1},
		timed{"prepare", op.SideHost, -1, 520, 600})
	const after = 6_000 // it; before it are 10 µs
	check.Equal(t, "saved", int64(500_000+after), saved(t, g, "remove aten::item"))
}

// A fused run takes one launch, and one of the times between launches.
func TestAFusedRunTakesTheTimeBetweenItsLaunches(t *testing.T) {
	var ops []timed
	for i := range int64(50) {
		ops = append(ops, timed{"mul", 0, 20 * i, 20*i + 3, 1})
	}
	g := hostedBy(nil, append(ops, timed{"matmul", 0, 1_000, 1_003, 100})...)
	check.Equal(t, "saved", int64(49*20_000), saved(t, g, "fuse short"))
}

// Short operations run as a graph: each keeps its time, and a microsecond before it. Elementwise ones behind each other,
// and the same ones, become one kernel, as long as all of them without the empty kernels.
func TestShortOperationsRunAsAGraph(t *testing.T) {
	const us = 1_000
	for _, test := range []struct {
		names []string
		want  int64 // µs of four operations, each 5 µs and 10 µs later on the device
	}{
		{[]string{"norm", "gather", "rotary", "cache"}, 4 * (5 + 1)},
		{[]string{"norm", "add", "mul", "gather"}, 4*(5+1) - (1 + 2)},
		{[]string{"add", "mul", "gelu", "gather"}, 4*(5+1) - 2*(1+2)},
		{[]string{"tiny"}, 4 * (5 - 2)},
	} {
		f := trace.New()
		const rounds = 50
		for i := range int64(4 * rounds) {
			f.Add(op.Record{Entry: &op.Entry{
				Operation: test.names[int(i)%len(test.names)], Kind: op.KindCompute, DeviceID: "cuda:0",
				Stream: op.Known(int64(7)), Launch: op.Known(1e18 - 1_000*us + i),
				Start: op.Known(1e18 + i*15*us), Duration: 5 * us,
			}})
		}
		ns := saved(t, replay.New(f), "fuse short")
		left := rounds*60*us - ns - 10*us // the last one ends before its gap
		if off := left - rounds*test.want*us; max(off, -off) > 20*us {
			t.Errorf("%v: %d µs are left of each round, want %d", test.names, left/rounds/us, test.want)
		}
	}
}

// Of a step, what follows the last collective needs the results of all.
func TestAnOptimizerNeedsAllCollectives(t *testing.T) {
	f := trace.New()
	at := int64(0)
	for i, name := range []string{"backward", "all_reduce", "backward", "all_reduce", "optimizer"} {
		e := op.Entry{
			Operation: name, Kind: op.KindCompute, DeviceID: "cuda:0", Stream: op.Known(int64(0)), Step: op.Known(int64(0)),
			Start: op.Known(1e18 + at), Duration: 10 * ms, Launch: op.Known(1e18 + int64(i)),
		}
		if name == "all_reduce" {
			e.Kind = op.KindCollective
		}
		f.Add(op.Record{Entry: &e})
		at += 10 * ms
	}
	near(t, "saved", saved(t, replay.New(f), "overlap kind=collective"), 10*ms)
}

func near(t *testing.T, what string, ns, want int64) {
	t.Helper()
	if ns < want-10_000 || ns > want+10_000 {
		t.Errorf("%s: %d ns, not %d", what, ns, want)
	}
}

// A step that begins after the device's work of the step before it holds back its own launches.
func TestTheFirstLaunchOfAStepWaitsForItsSpan(t *testing.T) {
	f := trace.New()
	for step := range int64(4) {
		at := 1e18 + step*10*ms
		id := op.SpanID{byte(step + 1)}
		f.Add(op.Record{Span: &op.Span{
			Name: "step", TraceID: op.TraceID{1, byte(step)}, SpanID: id, Start: op.Known(at), Duration: 10 * ms,
		}})
		f.Add(op.Record{Entry: &op.Entry{
			Operation: "matmul", Kind: op.KindCompute, DeviceID: "cuda:0", Stream: op.Known(int64(0)), Step: op.Known(step),
			TraceID: op.TraceID{1, byte(step)}, ParentSpanID: id, SpanID: op.SpanID{9, byte(step)},
			Launch: op.Known(at + ms), Start: op.Known(at + 2*ms), Duration: 8*ms - 5_000,
			Attrs: []op.Attr{{Key: "thread.id", Type: op.AttrInt, Value: "7"}},
		}})
	}
	near(t, "saved", saved(t, replay.New(f), "0.5x matmul"), 4*4*ms)
}

// A request around a request of another process counts once, with what the inner one saves.
func TestRequestsAroundOthersCountOnce(t *testing.T) {
	f := trace.New()
	for i := range byte(20) {
		at := 1e18 + int64(i)*20*ms
		id := op.TraceID{1, i}
		span := op.Span{
			Name: "gateway", Service: "a", TraceID: id, SpanID: op.SpanID{1}, Start: op.Known(at), Duration: 12 * ms,
		}
		f.Add(op.Record{Span: &span})
		span = op.Span{
			Name: "infer", Service: "b", TraceID: id, SpanID: op.SpanID{2}, ParentSpanID: op.SpanID{1},
			RemoteParent: true, Start: op.Known(at + ms), Duration: 10 * ms,
		}
		f.Add(op.Record{Span: &span})
		f.Add(op.Record{Entry: &op.Entry{
			Operation: "matmul", Kind: op.KindCompute, DeviceID: "cuda:0", Service: "b", TraceID: id,
			SpanID: op.SpanID{3}, ParentSpanID: op.SpanID{2}, Start: op.Known(at + ms), Duration: 10 * ms,
		}})
	}
	c, err := replay.Parse("0.5x matmul")
	check.Equal(t, "error", nil, err)
	r, err := replay.New(f).Run(c)
	check.Equal(t, "error", nil, err)
	check.Equal(t, "requests", replay.Requests{Count: 20, SumNS: 240 * ms, ReplayedSumNS: 140 * ms},
		replay.Requests{Count: r.Requests.Count, SumNS: r.Requests.SumNS, ReplayedSumNS: r.Requests.ReplayedSumNS})
}
