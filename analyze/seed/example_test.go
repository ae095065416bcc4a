package seed_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/op"
	opseed "github.com/optrace/optrace/op/seed"
)

// smallTrace is a trace of three operations on two devices.
func smallTrace() *opseed.Trace {
	t := &opseed.Trace{}
	for _, e := range []op.Entry{
		{Operation: "matmul", DeviceID: "gpu:0", Duration: 300_000, MemoryBytes: op.Known(131072)},
		{Operation: "matmul", DeviceID: "gpu:1", Duration: 100_000, MemoryBytes: op.Known(131072)},
		{Operation: "allreduce", DeviceID: "gpu:1", Duration: 600, MemoryBytes: op.Known(4096)},
	} {
		t.AddEntry(&e)
	}
	return t
}

func ExampleSummary_OperationSummary() {
	summary := seed.Summarize(smallTrace()).OperationSummary()
	for _, name := range slices.Sorted(maps.Keys(summary)) {
		s := summary[name]
		fmt.Printf("%s: %d ops, %g µs, %d bytes\n", name, s.Count, s.TotalDurationUS, s.TotalMemoryBytes)
	}
	// Output:
	// allreduce: 1 ops, 0.6 µs, 4096 bytes
	// matmul: 2 ops, 400 µs, 262144 bytes
}

func ExampleSummary_LoadBalance() {
	text, err := json.MarshalIndent(seed.Summarize(smallTrace()).LoadBalance(), "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
	// Output:
	// {
	//   "device_count": 2,
	//   "total_duration_us": 400.6,
	//   "ideal_duration_us": 200.3,
	//   "max_duration_us": 300,
	//   "imbalance_ratio": 0.4977533699450823,
	//   "per_device_duration_us": [
	//     [
	//       "gpu:0",
	//       300
	//     ],
	//     [
	//       "gpu:1",
	//       100.6
	//     ]
	//   ]
	// }
}

func ExampleColumns() {
	t := seed.NewColumns(smallTrace())
	s := t.Summary()
	fmt.Println(s.OperationSummary()["matmul"].TotalDurationUS)
	fmt.Println(s.FlamegraphCollapsed())
	fmt.Println(t.SlowestOps(1))
	// Output:
	// 400
	// trace;gpu:0;matmul 300
	// trace;gpu:1;allreduce 1
	// trace;gpu:1;matmul 100
	// [{0 300000}]
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
