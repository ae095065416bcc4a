package requests_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// The time in which a request waits for another is that of the spans on its path.
func TestQueued(t *testing.T) {
	f := trace.New()
	span := func(trace, id, parent byte, name string, from, to int64) {
		f.Add(op.Record{Span: &op.Span{
			Name: name, TraceID: op.TraceID{15: trace}, SpanID: op.SpanID{7: id}, ParentSpanID: op.SpanID{7: parent},
			Start: op.Known(from), Duration: to - from,
		}})
	}
	matmul := func(trace byte, from, to int64) {
		f.Add(op.Record{Entry: &op.Entry{
			Operation: "matmul", Kind: op.KindCompute, DeviceID: "cuda:0", TraceID: op.TraceID{15: trace}, SpanID: op.SpanID{7: 9},
			ParentSpanID: op.SpanID{7: 1}, Start: op.Known(from), Duration: to - from,
		}})
	}
	span(1, 1, 0, "POST", 0, 50)
	matmul(1, 5, 50)
	span(2, 1, 0, "POST", 10, 80)
	span(2, 2, 1, "queue", 12, 48)
	matmul(2, 60, 80)
	all := requests.AlikeOf(f)
	if len(all) != 1 {
		t.Fatalf("%d names", len(all))
	}
	want := requests.Alike{
		Name: "POST", Count: 2, DurationNS: 120, MedianNS: 50,
		QueuedNS: 40, QueuedIn: map[string]int64{"queue": 36, "POST": 4},
	}
	check.Equal(t, "", want, all[0])
}
