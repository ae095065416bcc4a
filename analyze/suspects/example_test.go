package suspects_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// An operation still running when the next one of its stream has ended.
func ExampleFind() {
	forest := trace.New()
	for _, e := range []op.Entry{
		{Operation: "copy", DeviceID: "cuda:0", Stream: op.Known(7), Start: op.Known(0), Duration: 900_000},
		{Operation: "matmul", DeviceID: "cuda:0", Stream: op.Known(7), Start: op.Known(100_000), Duration: 200_000},
	} {
		forest.Add(op.Record{Entry: &e})
	}
	for _, s := range suspects.Examples(forest, suspects.Find(forest)) {
		fmt.Println(s.What, s.Operation, s.DurationNS)
	}
	// Output:
	// duration copy 900000
}
