package collective_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Rank 0 waits 60 for rank 1, the last to arrive.
func ExampleJoins_Rows() {
	forest := trace.New()
	for rank, start := range []int64{0, 60} {
		forest.Add(op.Record{Entry: &op.Entry{
			Operation: "all_reduce", Kind: op.KindCollective, DeviceID: "cuda:0", Rank: op.Known(int64(rank)),
			Start: op.Known(start), Duration: 100 - start,
		}})
	}
	for _, row := range collective.FindJoins(forest).Rows() {
		fmt.Println(row.Name, "transfer", row.TransferNS, "wait", row.WaitNS, "for", row.Stragglers[0].Label(true))
	}
	// Output:
	// all_reduce transfer 40 wait 60 for 1/cuda:0
}
