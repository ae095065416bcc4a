package clocks_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/clocks"
)

// The clock of rank 1 is 300 ns ahead. The third collective ended late for it.
func ExampleEstimator() {
	var e clocks.Estimator
	for i, late := range []int64{0, 0, 900, 0, 0} {
		end := int64(1000 * (i + 1))
		e.Add([]clocks.End{{Rank: 0, At: end}, {Rank: 1, At: end + 300 + late}})
	}
	for _, o := range e.Estimate().Offsets {
		fmt.Printf("rank %d: %d ns, of %d collectives, at most %s ns off\n", o.Rank, o.OffsetNS, o.Collectives, o.ResidualMaxNS)
	}
	// Output:
	// rank 0: 0 ns, of 0 collectives, at most unknown ns off
	// rank 1: 300 ns, of 5 collectives, at most 900 ns off
}
