package launch_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

func ExampleFind() {
	forest := trace.New()
	for _, e := range []op.Entry{
		{Operation: "matmul", DeviceID: "cuda:0", Launch: op.Known(0), Start: op.Known(5), Duration: 50},
		{Operation: "relu", DeviceID: "cuda:0", Launch: op.Known(10), Start: op.Known(55), Duration: 10},
	} {
		forest.Add(op.Record{Entry: &e})
	}
	for _, s := range launch.Find(forest, 10).Streams {
		fmt.Println(s.Label(false), s.Count, "launches, waiting", s.WaitingNS, "ns, overhead", s.Overhead.SumNS, "ns")
	}
	// Output:
	// cuda:0 2 launches, waiting 50 ns, overhead 5 ns
}
