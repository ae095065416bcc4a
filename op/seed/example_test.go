package seed_test

import (
	"fmt"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// A Trace is a small trace in memory, and reads and writes the JSON of the
// recorder this project started from.
func ExampleTrace() {
	t := new(seed.Trace).WithMetadata("model", "resnet50")
	t.AddEntry(&op.Entry{Operation: "matmul", Duration: 500_000, MemoryBytes: op.Known(4096)})
	t.AddEntry(&op.Entry{Operation: "relu", Duration: 20_000, MemoryBytes: op.Known(1024)})

	fmt.Println(t.StepCount(), "operations,", t.TotalDurationUS(), "us, peak", t.PeakMemoryBytes(), "bytes")
	fmt.Println("slowest:", t.SlowestOps(1)[0].Operation)

	back, err := seed.Parse(t.AppendJSON(nil), "trace.json")
	fmt.Println(back.StepCount(), back.Metadata["model"], err)
	// Output:
	// 2 operations, 520 us, peak 4096 bytes
	// slowest: matmul
	// 2 resnet50 <nil>
}
