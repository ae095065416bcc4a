package sequences_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

func ExampleFind() {
	forest := trace.New()
	for i := range int64(4) {
		for k, name := range []string{"add", "mul"} {
			forest.Add(op.Record{Entry: &op.Entry{
				Operation: name, DeviceID: "cuda:0", Start: op.Known(1_000_000*i + 10*int64(k)), Duration: 8,
			}})
		}
	}
	for _, row := range sequences.Find(forest, 10, 64).Rows {
		fmt.Println(row.Operations, row.Count, "times,", row.SumNS, "ns and", row.GapNS, "ns between")
	}
	// Output:
	// [add mul] 4 times, 64 ns and 8 ns between
}
