package clocks_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// The clock of rank 1 is 300 ns ahead. Its third collective ended late.
func ExampleAlign() {
	forest := trace.New()
	for i, late := range []int64{0, 0, 900, 0, 0} {
		for rank, ahead := range []int64{0, 300 + late} {
			forest.Add(op.Record{Entry: &op.Entry{
				Operation: "all_reduce", Kind: op.KindCollective, DeviceID: "cuda:0", Rank: op.Known(int64(rank)),
				Start: op.Known(int64(1000*i) + ahead), Duration: 500,
				Collective: &op.Collective{Name: "all_reduce", Sequence: op.Known(int64(i))},
			}})
		}
	}
	for _, o := range clocks.Align(forest).Offsets {
		fmt.Printf("rank %d: %d ns, of %d collectives, at most %s ns off\n",
			o.Rank, o.OffsetNS, o.Collectives, o.ResidualMaxNS)
	}
	// Output:
	// rank 0: 0 ns, of 0 collectives, at most unknown ns off
	// rank 1: 300 ns, of 5 collectives, at most 900 ns off
}
