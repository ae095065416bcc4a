package replay_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// The host begins a step while the device works for the one before. These steps are a loop and no requests, so that
// shorter operations shorten the run. A host that reads a value of the device waits for it, and no other does.
func TestStepsThatOverlapAreALoop(t *testing.T) {
	f := trace.New()
	id := byte(0)
	add := func(step int64, name string, device string, start, end int64) {
		id++
		f.Add(op.Record{Entry: &op.Entry{
			Operation: name, DeviceID: device, Step: op.Known(step), Start: op.Known(start * ms), Duration: (end - start) * ms,
			TraceID: op.TraceID{byte(step + 1)}, SpanID: op.SpanID{id, 1}, ParentSpanID: op.SpanID{byte(step + 1)},
		}})
	}
	for step, ends := range []int64{4, 7, 10} {
		s := int64(step)
		f.Add(op.Record{Span: &op.Span{
			Name: "step", TraceID: op.TraceID{byte(s + 1)}, SpanID: op.SpanID{byte(s + 1)}, Start: op.Known(s * ms),
			Duration: (ends - s + s/2*2) * ms, // the last has save
		}})
		add(s, "prepare", "cpu", s, s+1)
		add(s, "kernel", "cuda:0", ends-3, ends)
	}
	add(2, "aten::item", "cpu", 3, 10)
	add(2, "save", "cpu", 10, 12)
	checkNoRequests(t, f)
	g := replay.New(f)
	check.Equal(t, "overlapping requests", false, g.Overlapping())
	for change, want := range map[string]int64{
		"0.5x kernel": 4.5 * ms, "nowait aten::item": 2 * ms, "remove prepare": 1 * ms,
	} {
		const rounded = ms / 20
		if got := saved(t, g, change); got < want-rounded || got > want+rounded {
			t.Errorf("%s saves %d, want %d", change, got, want)
		}
	}
}

func checkNoRequests(t *testing.T, f *trace.Forest) {
	r, err := replay.New(f).Run()
	check.OK(t, err)
	if r.Requests != nil {
		t.Errorf("%d requests in a loop of steps", r.Requests.Count)
	}
}

// The span of a step is no request, and neither is a span around steps.
func TestStepSpansAreNoRequests(t *testing.T) {
	for _, names := range [][]string{{"train_step"}, {"train", "train_step"}} {
		f := trace.New()
		for i, name := range names {
			f.Add(op.Record{Span: &op.Span{Name: name, TraceID: op.TraceID{1}, SpanID: op.SpanID{7: byte(i + 1)},
				ParentSpanID: op.SpanID{7: byte(i)}, Start: op.Known(1e18), Duration: 100 * ms}})
		}
		f.Add(op.Record{Entry: &op.Entry{Operation: "matmul", DeviceID: "gpu", TraceID: op.TraceID{1},
			SpanID: op.SpanID{9}, ParentSpanID: op.SpanID{7: byte(len(names))}, Start: op.Known(1e18 + ms), Duration: ms}})
		checkNoRequests(t, f)
	}
}
