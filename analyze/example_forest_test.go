package analyze_test

import (
	"fmt"
	"os"
	"time"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// exampleForest is a request of 100 µs with a matrix product, the exchange of
// its result that overlaps it, and a copy back.
func exampleForest() *analyze.Forest {
	forest := analyze.NewForest(analyze.TraceOptions{})
	id := op.TraceID{15: 1}
	at := func(us int64) op.Int { return op.Known(us * 1000) }
	forest.AddSpan(&op.Span{
		Name: "POST /predict", Service: "inference", TraceID: id, SpanID: op.SpanID{7: 1},
		Start: at(0), Duration: 100_000,
	})
	for i, e := range []op.Entry{
		{Operation: "matmul", Kind: op.KindCompute, Start: at(10), Duration: 40_000},
		{Operation: "all_reduce", Kind: op.KindCollective, Start: at(30), Duration: 40_000},
		{Operation: "Memcpy DtoH", Kind: op.KindMemory, Start: at(75), Duration: 10_000, Launch: at(72)},
	} {
		e.DeviceID, e.TraceID, e.SpanID, e.ParentSpanID = "cuda:0", id, op.SpanID{7: byte(2 + i)}, op.SpanID{7: 1}
		forest.Add(&e)
	}
	return forest
}

func ExampleForest_Timelines() {
	for _, device := range exampleForest().Timelines() {
		p := device.Parts
		ratio, _ := p.OverlapRatio()
		fmt.Println(device.DeviceID, "in ns:")
		fmt.Println(p.Compute, "+", p.ExposedCommunication, "+", p.ExposedMemory, "+", p.Other, "+", p.Idle, "=", p.Span)
		fmt.Println("communication hidden by compute:", ratio)
	}
	// Output:
	// cuda:0 in ns:
	// 40000 + 20000 + 10000 + 0 + 5000 = 75000
	// communication hidden by compute: 0.5
}

func ExampleForest_SelfTimes() {
	forest := analyze.NewForest(analyze.TraceOptions{})
	id := op.TraceID{15: 1}
	relu, matmul := op.SpanID{7: 1}, op.SpanID{7: 2}
	forest.Add(&op.Entry{Operation: "relu", TraceID: id, SpanID: relu, Start: op.Known(0), Duration: 100})
	forest.Add(&op.Entry{Operation: "matmul", TraceID: id, SpanID: matmul, ParentSpanID: relu, Start: op.Known(10), Duration: 60})
	for n, self := range forest.SelfTimes() {
		fmt.Println(n.Name(), n.Duration(), self)
	}
	// Output:
	// relu 100 40
	// matmul 60 60
}

func ExampleForest_Idle() {
	idle := exampleForest().Idle(analyze.IdleOptions{Threshold: 30 * time.Microsecond, Top: 3})
	for _, gap := range idle.Longest {
		fmt.Println(gap.Duration, "ns after", gap.After, "before", gap.Before, "because of", gap.Cause)
	}
	// Output:
	// 5000 ns after all_reduce before Memcpy DtoH because of host
}

func ExampleForest_CriticalPaths() {
	for _, path := range exampleForest().CriticalPaths() {
		for _, s := range path.Segments {
			fmt.Println(s.Duration, s.Node.Name())
		}
		fmt.Println(path.Duration, "in all")
	}
	// Output:
	// 30000 POST /predict
	// 40000 all_reduce
	// 5000 POST /predict
	// 10000 Memcpy DtoH
	// 15000 POST /predict
	// 100000 in all
}

func ExampleForest_CriticalPathSummary() {
	sum := exampleForest().CriticalPathSummary()
	for _, s := range sum.Shares {
		fmt.Println(s.Operation, s.Kind, s.Share)
	}
	// Output:
	// POST /predict host 0.5
	// all_reduce collective 0.4
	// Memcpy DtoH memory 0.1
}

func ExampleForest_Requests() {
	requests := exampleForest().Requests()
	for i := range requests.List {
		r := &requests.List[i]
		fmt.Println(r.Name, "of", r.Duration, "ns:", r.Ops(), "ops, uncovered", r.Uncovered, "queueing", r.Queueing)
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
	whole := analyze.NewForest(analyze.TraceOptions{})
	for range 2 { // the same shard twice
		whole.Merge(exampleForest())
	}
	fmt.Printf("%+v\n", whole.Structure())
	// Output:
	// {Ops:6 Spans:2 Orphans:0 Duplicates:4 Repeated:4 Cycles:0 BadTimes:0 Overflow:0}
}
