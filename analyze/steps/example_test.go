package steps_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

func ExampleRows() {
	forest := trace.New()
	for _, e := range []op.Entry{
		{Operation: "matmul", Step: op.Known(0), Start: op.Known(0), Duration: 40},
		{Operation: "relu", Step: op.Known(0), Start: op.Known(50), Duration: 10},
		{Operation: "matmul", Step: op.Known(1), Start: op.Known(100), Duration: 40},
	} {
		forest.Add(op.Record{Entry: &e})
	}
	for _, row := range steps.Rows(forest) {
		fmt.Println("step", row.Step, "operations", row.Count, "wall", row.WallNS, "busy", row.BusyNS)
	}
	// Output:
	// step 0 operations 2 wall 60 busy 50
	// step 1 operations 1 wall 40 busy 40
}
