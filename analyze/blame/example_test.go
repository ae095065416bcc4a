package blame_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// A request of 8 ms has the device from 0 ms on. A second one arrives at 2 ms, and takes 1 ms of it.
func Example() {
	const ms = 1_000_000
	f := trace.New()
	for i, q := range []struct{ arrival, start, work int64 }{{0, 0, 8}, {2, 8, 1}} {
		id := op.TraceID{byte(i + 1)}
		f.Add(op.Record{Span: &op.Span{
			Name: "POST /predict", Service: "api", TraceID: id, SpanID: op.SpanID{1},
			Start: op.Known(1e18 + q.arrival*ms), Duration: (q.start + q.work - q.arrival) * ms,
		}})
		f.Add(op.Record{Entry: &op.Entry{
			Operation: "matmul", DeviceID: "cuda:0", Service: "api", TraceID: id, SpanID: op.SpanID{2},
			ParentSpanID: op.SpanID{1}, Launch: op.Known(1e18 + q.arrival*ms), Start: op.Known(1e18 + q.start*ms),
			Duration: q.work * ms,
		}})
	}
	for _, row := range replay.New(f).Blame(nil).Rows {
		fmt.Println(row.Text)
	}
	// Output:
	// POST /predict 0200… waited 6.00 ms behind the operations of 0100….
}
