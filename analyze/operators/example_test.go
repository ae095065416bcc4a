package operators_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

func ExampleFind() {
	forest := trace.New()
	id := op.TraceID{15: 1}
	for _, e := range []op.Entry{
		{Operation: "addmm", Side: op.SideHost, TraceID: id, SpanID: op.SpanID{7: 1}, Start: op.Known(0), Duration: 40},
		{Operation: "gemm", DeviceID: "cuda:0", TraceID: id, SpanID: op.SpanID{7: 2}, Launch: op.Known(15),
			Start: op.Known(25), Duration: 40},
	} {
		forest.Add(op.Record{Entry: &e})
	}
	for _, o := range operators.Find(forest, 10).Rows {
		fmt.Println(o.Operator, o.DeviceSelfNS, "ns on devices,", o.HostSelfNS, "ns on the host")
	}
	// Output:
	// addmm 40 ns on devices, 40 ns on the host
}
