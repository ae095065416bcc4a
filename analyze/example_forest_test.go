package analyze_test

import (
	"fmt"
	"os"
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// exampleForest is a request of 100 µs with a matrix product, the exchange of
// its result that overlaps it, and a copy back.
func exampleForest() *analyze.Forest {
	forest := analyze.NewForest()
	id := op.TraceID{15: 1}
	at := func(us int64) op.Int { return op.Known(us * 1000) }
	forest.Add(op.Record{Span: &op.Span{
		Name: "POST /predict", Service: "inference", TraceID: id, SpanID: op.SpanID{7: 1},
		Start: at(0), Duration: 100_000,
	}})
	for i, e := range []op.Entry{
		{Operation: "matmul", Kind: op.KindCompute, Start: at(10), Duration: 40_000},
		{Operation: "all_reduce", Kind: op.KindCollective, Start: at(30), Duration: 40_000},
		{Operation: "Memcpy DtoH", Kind: op.KindMemory, Start: at(75), Duration: 10_000, Launch: at(72)},
	} {
		e.DeviceID, e.TraceID, e.SpanID, e.ParentSpanID = "cuda:0", id, op.SpanID{7: byte(2 + i)}, op.SpanID{7: 1}
		forest.Add(op.Record{Entry: &e})
	}
	return forest
}

func ExampleForest_CriticalPaths() {
	for _, path := range exampleForest().CriticalPaths() {
		for _, s := range path.Segments {
			fmt.Println(s.DurationNS, s.Node.Name())
		}
		fmt.Println(path.DurationNS, "in all")
	}
	// Output:
	// 30000 POST /predict
	// 40000 all_reduce
	// 5000 POST /predict
	// 10000 Memcpy DtoH
	// 15000 POST /predict
	// 100000 in all
}

func ExampleForest_Requests() {
	requests := exampleForest().Requests()
	for i := range requests.List {
		r := &requests.List[i]
		fmt.Println(r.Name, "of", r.DurationNS, "ns:", r.Ops(), "ops, uncovered", r.UncoveredNS, "queueing", r.QueueingNS)
	}
	// Output:
	// POST /predict of 100000 ns: 3 ops, uncovered 30000 queueing 10000
}

func ExampleForest_WriteCollapsed() {
	if err := exampleForest().WriteCollapsed(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// POST /predict;cuda:0;Memcpy DtoH 10000
	// POST /predict;cuda:0;all_reduce 40000
	// POST /predict;cuda:0;matmul 40000
}

func ExampleForest_Merge() {
	whole := analyze.NewForest()
	for range 2 { // the same shard twice
		whole.Merge(exampleForest())
	}
	fmt.Println(whole.Len(), "operations and spans")
	// Output:
	// 8 operations and spans
}

// Walking the spans, without recursion on the depth.
func ExampleForest_Roots() {
	pending := slices.Collect(exampleForest().Roots())
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
