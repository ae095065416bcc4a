package correlate_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/op"
)

// Jaeger has a request, its long operation, and a summary of the short one. The local batch has all three spans, so
// the join is complete.
func ExampleJoin() {
	trace := op.TraceID{15: 1}
	root := op.SpanID{7: 1}
	request := op.Record{Span: &op.Span{
		Name: "POST /predict", Service: "api", TraceID: trace, SpanID: root, Start: op.Known(0), Duration: 1_000_000,
	}}
	matmul := op.Record{Entry: &op.Entry{
		Operation: "matmul", Kind: op.KindCompute, DeviceID: "cuda:0", TraceID: trace, SpanID: op.SpanID{7: 2},
		ParentSpanID: root, Start: op.Known(100_000), Duration: 700_000,
	}}
	relu := op.Record{Entry: &op.Entry{
		Operation: "relu", Kind: op.KindCompute, DeviceID: "cuda:0", TraceID: trace, SpanID: op.SpanID{7: 3},
		ParentSpanID: root, Start: op.Known(800_000), Duration: 1_000,
	}}

	join := correlate.NewJoin()
	join.AddService(request)
	join.AddService(matmul)
	join.AddPruned(op.Pruned{
		TraceID: trace, SpanID: root, Operation: "relu", DeviceID: "cuda:0", Count: 1, Duration: 1_000,
	})
	join.AddLocal(request)
	join.AddLocal(matmul)
	join.AddLocal(relu)
	report := join.Report(correlate.Options{Jaeger: "http://localhost:16686"})

	for _, r := range report.Requests {
		fmt.Printf("%s: %d ns, %d operations, %d ns without one\n", r.Root, r.DurationNS.V, r.Ops, r.UncoveredNS.V)
		for _, p := range r.CriticalPath {
			fmt.Printf("  %s on %q: %d ns\n", p.Operation, p.DeviceID, p.TimeNS)
		}
		fmt.Println(r.Link)
	}
	fmt.Println("missing in Jaeger:", report.MissingInJaeger)
	// Output:
	// POST /predict: 1000000 ns, 2 operations, 299000 ns without one
	//   matmul on "cuda:0": 700000 ns
	//   POST /predict on "": 299000 ns
	//   relu on "cuda:0": 1000 ns
	// http://localhost:16686/trace/00000000000000000000000000000001?uiFind=0000000000000001
	// missing in Jaeger: 0
}
