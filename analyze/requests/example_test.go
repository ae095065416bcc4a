package requests_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

func ExampleFind() {
	forest := trace.New()
	id := op.TraceID{15: 1}
	forest.Add(op.Record{Span: &op.Span{
		Name: "POST /predict", TraceID: id, SpanID: op.SpanID{7: 1}, Start: op.Known(0), Duration: 100,
	}})
	for i, e := range []op.Entry{
		{Operation: "matmul", Kind: op.KindCompute, Start: op.Known(10), Duration: 40},
		{Operation: "relu", Kind: op.KindCompute, Start: op.Known(60), Duration: 30},
	} {
		e.DeviceID = "cuda:0"
		e.TraceID = id
		e.SpanID = op.SpanID{7: byte(2 + i)}
		e.ParentSpanID = op.SpanID{7: 1}
		forest.Add(op.Record{Entry: &e})
	}
	all := requests.Find(forest)
	for i := range all.List {
		r := &all.List[i]
		fmt.Println(r.Name, "of", r.DurationNS, "ns:", r.Ops(), "operations, uncovered", r.UncoveredNS, "queueing",
			r.QueueingNS)
		for _, c := range all.Causes(r) {
			fmt.Println(c.Cause, c.TimeNS)
		}
	}
	// Output:
	// POST /predict of 100 ns: 2 operations, uncovered 30 queueing 10
	// compute 70
	// after 10
	// before 10
	// host 10
}
