package trace_test

import (
	"fmt"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// request returns a request of 100 µs with a matrix product, an overlapping exchange of its result, and a copy back.
func request() *trace.Forest {
	forest := trace.New()
	id := op.TraceID{15: 1}
	at := func(us int64) op.Int { return op.Known(us * 1000) }
	forest.Add(op.Record{Span: &op.Span{
		Name: "POST /predict", Service: "inference", TraceID: id, SpanID: op.SpanID{7: 1}, Start: at(0),
		Duration: 100_000,
	}})
	for i, e := range []op.Entry{
		{Operation: "matmul", Kind: op.KindCompute, Start: at(10), Duration: 40_000},
		{Operation: "all_reduce", Kind: op.KindCollective, Start: at(30), Duration: 40_000},
		{Operation: "Memcpy DtoH", Kind: op.KindMemory, Start: at(75), Duration: 10_000},
	} {
		e.DeviceID = "cuda:0"
		e.TraceID = id
		e.SpanID = op.SpanID{7: byte(2 + i)}
		e.ParentSpanID = op.SpanID{7: 1}
		forest.Add(op.Record{Entry: &e})
	}
	return forest
}

func ExampleForest_Merge() {
	whole := trace.New()
	for range 2 { // the same shard twice
		whole.Merge(request())
	}
	fmt.Println(whole.Len(), "operations and spans")
	// Output:
	// 8 operations and spans
}

// Roots and Children visit the spans without recursion.
func ExampleForest_Roots() {
	pending := slices.Collect(request().Roots())
	for len(pending) > 0 {
		n := pending[len(pending)-1]
		pending = slices.AppendSeq(pending[:len(pending)-1], n.Children())
		fmt.Printf("%s, %d ns, below %q\n", n.Name(), n.Duration(), n.Parent().Name())
	}
	// Output:
	// POST /predict, 100000 ns, below ""
	// matmul, 40000 ns, below "POST /predict"
	// all_reduce, 40000 ns, below "POST /predict"
	// Memcpy DtoH, 10000 ns, below "POST /predict"
}
