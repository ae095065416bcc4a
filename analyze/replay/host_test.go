package replay_test

import (
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

// An operation of the host that synchronizes ends after the work of the device.
func TestAHostsOperationWaitsForTheDevice(t *testing.T) {
	g := recordedOf(timed{"matmul", 0, 1_000, 2_000, 50_000}, timed{"deviceSynchronize", op.SideHost, -1, 3_000, 50_000},
		timed{"prepare", op.SideHost, -1, 53_000, 47_000})
	check.Equal(t, "saved by half of the operation", int64(25*ms), saved(t, g, "0.5x matmul"))
	const usual = 10_000 // after the last operation
	check.Equal(t, "saved without the wait", int64(48*ms-usual), saved(t, g, "nowait deviceSynchronize"))
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

// An operation of the host that is taken out takes those within it along.
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
