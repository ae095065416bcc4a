package nsys_test

import (
	"fmt"
	"log"

	_ "github.com/optrace/optrace/cmd/optrace/nsys"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// The device operations of a recording and the ranges that launched them.
func Example() {
	for e, err := range ingest.Open("testdata/small.sqlite").Entries() {
		if err != nil {
			log.Fatal(err)
		}
		if e.Side != op.SideHost {
			fmt.Printf("%s: %s, %d ns, by %q\n", e.DeviceID, e.Operation, e.Duration, e.LaunchedBy)
		}
	}
	// Output:
	// cuda:0: void gemm<float>(float*), 100 ns, by "aten::mm"
	// cuda:1: ncclDevKernel_AllReduce, 20 ns, by "other thread"
	// cuda:0: void gemm<float>(float*), 100 ns, by ""
	// cuda:0: Memcpy HtoD (Pinned -> Device), 50 ns, by "overlap"
	// cuda:1: Memcpy PtoP, 10 ns, by ""
	// cuda:1: CUDA graph 12, 500 ns, by ""
}
