package path_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

func ExampleOf() {
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
	for root := range forest.Roots() {
		for _, s := range path.Of(forest, root).Segments {
			fmt.Println(s.DurationNS, s.Node.Name())
		}
	}
	// Output:
	// 10 POST /predict
	// 40 matmul
	// 10 POST /predict
	// 30 relu
	// 10 POST /predict
}
