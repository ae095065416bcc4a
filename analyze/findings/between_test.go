package findings_test

import (
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// spans returns a run of root spans, one after the other, each with two operations. Between them the host records
// nothing for a fifth of the time. steps numbers the operations' steps.
func spans(steps bool) (records []op.Record) {
	const ms = 1_000_000
	for i := range int64(20) {
		at := 1_000_000_000 + i*10*ms
		root := &op.Span{
			Name: "work", TraceID: op.TraceID{byte(i + 1)}, SpanID: op.SpanID{1}, Start: op.Known(at), Duration: 8 * ms,
		}
		for k, name := range []string{"forward", "update"} {
			e := &op.Entry{
				Operation: name, Kind: op.KindCompute, DeviceID: "cpu", Rank: op.Known(int64(0)), TraceID: root.TraceID,
				ParentSpanID: root.SpanID, SpanID: op.SpanID{2, byte(k)},
				Start: op.Known(at + int64(k)*4*ms), Duration: 4 * ms,
			}
			if steps {
				e.Step = op.Known(i)
			}
			records = append(records, op.Record{Entry: e})
		}
		records = append(records, op.Record{Span: root})
	}
	return records
}

// Time between root spans has no request, unless they are the steps of a loop: then it is time of the host.
func TestTimeBetweenStepsIsTheHosts(t *testing.T) {
	all := found(t, spans(true)...)
	loop := only(all, "pauses")
	const says = "The device is idle 38.0 ms (19.2 %) between steps, while the host runs code that records nothing: " +
		"19 times after update, until forward, 2.00 ms each."
	check.Equal(t, "text", says, loop.Text)
	check.Equal(t, "advice", "docs/advice.md#pauses", loop.Advice)
	if !strings.Contains(loop.Try, "next step") || !loop.SavedHighNS.Known {
		t.Errorf("try %q, gain %q", loop.Try, loop.Gain())
	}
	if !strings.Contains(all[0].Text, "the host between steps 19.2 %") {
		t.Error(all[0].Text)
	}
	all = found(t, spans(false)...)
	if f := only(all, "pauses"); f.Rule != "" || strings.Contains(all[0].Text, "between steps") {
		t.Error(f.Text, all[0].Text)
	}
}

// The advice follows what shortens the run: the time between steps, if one device is idle at no other time.
func TestAdviceOnIdleTimeFollowsTheGain(t *testing.T) {
	const ms = 1_000_000
	for _, last := range []int64{0, 3} { // ms of a step in which the last rank is idle, as the others are for 3 ms
		var records []op.Record
		for i := range 20 * int64(3) {
			at := 1_000_000_000 + i/3*11*ms
			of, root := op.TraceID{byte(i + 1)}, op.SpanID{1}
			idle := []int64{3, 3, last}[i%3] * ms
			records = append(records, op.Record{Span: &op.Span{
				Name: "train_step", TraceID: of, SpanID: root, Start: op.Known(at), Duration: 10 * ms,
			}}, op.Record{Span: &op.Span{
				Name: "prepare", TraceID: of, SpanID: op.SpanID{3}, ParentSpanID: root, Start: op.Known(at), Duration: idle,
			}})
			for k, e := range []op.Entry{
				{Operation: "matmul", Kind: op.KindCompute, Start: op.Known(at + idle), Duration: 9*ms - idle},
				{Operation: "all_reduce", Kind: op.KindCollective, Start: op.Known(at + 9*ms), Duration: ms},
			} {
				e.DeviceID, e.Rank, e.Step = "cpu", op.Known(i%3), op.Known(i/3)
				e.TraceID, e.ParentSpanID, e.SpanID = of, root, op.SpanID{2, byte(k)}
				records = append(records, op.Record{Entry: &e})
			}
		}
		f := only(found(t, records...), "pauses")
		isNext := strings.Contains(f.Try, "next step") && strings.Contains(f.Text, "19.0 ms of it between steps")
		if isNext != (last == 0) || f.Try == "" {
			t.Errorf("%d ms: %q, try %q, gain %q", last, f.Text, f.Try, f.Gain())
		}
	}
}

// Fusing short operations saves time of the host only if their launches state how long they take. Otherwise a replay
// states the most.
func TestGainOfFusingNeedsTimedLaunches(t *testing.T) {
	for _, timed := range []bool{false, true} {
		var r run
		for range 1200 {
			e := r.launch("aten::tiny", "tiny", op.KindCompute, 2_000)
			if timed {
				e.Attrs = append(e.Attrs, op.Attr{Key: "tensor.launch.duration", Type: op.AttrInt, Value: "3000"})
			}
		}
		f := only(found(t, r.records...), "small_operations")
		if f.Rule == "" || f.SavedLowNS.V > 0 != timed || strings.HasPrefix(f.Gain(), "at most") == timed {
			t.Errorf("timed %v: %q, gain %q", timed, f.Text, f.Gain())
		}
	}
}
