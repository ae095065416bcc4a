package timeline_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

func ExampleTimelines() {
	forest := trace.New()
	for _, e := range []op.Entry{
		{Operation: "matmul", DeviceID: "cuda:0", Kind: op.KindCompute, Start: op.Known(0), Duration: 50},
		{Operation: "all_reduce", DeviceID: "cuda:0", Kind: op.KindCollective, Start: op.Known(30), Duration: 50},
		{Operation: "relu", DeviceID: "cuda:0", Kind: op.KindCompute, Start: op.Known(90), Duration: 10},
	} {
		forest.Add(op.Record{Entry: &e})
	}
	for _, line := range timeline.Timelines(forest) {
		p := line.Parts
		fmt.Println(line.Label(false), "span", p.Span, "compute", p.Compute, "exposed communication",
			p.ExposedCommunication, "idle", p.Idle)
	}
	// Output:
	// cuda:0 span 100 compute 60 exposed communication 30 idle 10
}
