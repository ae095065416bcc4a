package seed_test

import (
	"fmt"
	"os"

	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/op"
)

func ExampleTrace() {
	t := &seed.Trace{}
	for _, e := range []op.Entry{
		{Operation: "matmul", DeviceID: "gpu:0", Duration: 300_000, MemoryBytes: op.Known(131072)},
		{Operation: "matmul", DeviceID: "gpu:1", Duration: 100_000, MemoryBytes: op.Known(131072)},
		{Operation: "allreduce", DeviceID: "gpu:1", Duration: 600, MemoryBytes: op.Known(4096)},
	} {
		t.AddEntry(&e)
	}
	fmt.Println(t.OperationSummary()["matmul"].TotalDurationUS)
	fmt.Println(t.LoadBalance().IdealDurationUS)
	fmt.Println(t.FlamegraphCollapsed())
	// Output:
	// 400
	// 200.3
	// trace;gpu:0;matmul 300
	// trace;gpu:1;allreduce 1
	// trace;gpu:1;matmul 100
}

func ExampleStacks() {
	var stacks seed.Stacks
	stacks.Add(&op.Entry{Operation: "matmul", DeviceID: "gpu:0", Duration: 123_000})
	stacks.Add(&op.Entry{Operation: "matmul", DeviceID: "gpu:0", Duration: 77_400})
	stacks.Add(&op.Entry{Operation: "reshape", Duration: 600})
	if err := stacks.Write(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// trace;gpu:0;matmul 200
	// trace;unknown;reshape 1
}
