package analyze_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

const batch = `{"schema":"optrace.entries/v1","resource":{"service":"trainer"}}
{"operation":"matmul","device_id":"cuda:0","output_shape":[64,256],"dtype":"f32","start_unix_ns":1000,"duration_us":0.3}
{"operation":"matmul","device_id":"cuda:1","output_shape":[32,256],"dtype":"f32","start_unix_ns":1000,"duration_us":0.2}
{"operation":"allreduce","device_id":"cuda:0","output_shape":[64],"start_unix_ns":1200,"duration_us":0.3}
{"operation":
{"gap":{"dropped":7,"reason":"queue_full"}}
`

// One call reads a file of any format and computes its report.
func ExampleFile() {
	report, err := analyze.File(context.Background(), "../examples/offline/testdata/rank0.jsonl", analyze.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range report.Operations[:2] {
		fmt.Printf("%s: %d times, %d ns\n", row.Operation, row.Count, row.SumNS)
	}
	// Output:
	// matmul: 4 times, 1000000 ns
	// all_reduce: 2 times, 440000 ns
}

// Run reads records from any source. The report counts damaged records and operations lost before they were written.
func ExampleRun() {
	records := entries.NewReader(strings.NewReader(batch), "ops.jsonl").Records()
	r, err := analyze.Run(context.Background(), analyze.Records(records), analyze.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d entries, %d malformed, %d dropped\n", r.Input.Entries, r.Input.Malformed, r.Input.Dropped)
	for _, row := range r.Operations {
		fmt.Printf("%s: %d times, %d ns, share %.3f, mixes %v\n", row.Operation, row.Count, row.SumNS, row.Share.V,
			row.Mixes)
	}
	for _, d := range r.Devices {
		fmt.Printf("%s: span %d = compute %d + communication %d + idle %d, overlap %d ns\n",
			d.DeviceID, d.SpanNS.V, d.ComputeNS.V, d.ExposedCommunicationNS.V, d.IdleNS.V, d.OverlapNS.V)
	}
	fmt.Printf("imbalance by busy time: %.3f\n", r.LoadBalance.BusyImbalanceRatio.V)
	// Output:
	// 3 entries, 1 malformed, 7 dropped
	// matmul: 2 times, 500 ns, share 0.625, mixes [shape]
	// allreduce: 1 times, 300 ns, share 0.375, mixes []
	// cuda:0: span 500 = compute 300 + communication 200 + idle 0, overlap 100 ns
	// cuda:1: span 200 = compute 200 + communication 0 + idle 0, overlap 0 ns
	// imbalance by busy time: 0.429
}

const tenants = `{"schema":"optrace.entries/v1","resource":{"service":"server"}}
{"operation":"matmul","device_id":"cuda:0","start_unix_ns":1000,"duration_us":0.3,"attrs":{"tenant":"a"}}
{"operation":"matmul","device_id":"cuda:0","start_unix_ns":1300,"duration_us":0.2,"attrs":{"tenant":"b"}}
{"operation":"copy","device_id":"cuda:0","start_unix_ns":1500,"duration_us":0.9,"attrs":{"tenant":"b"}}
`

// Operations are grouped by an attribute, and some are left out.
func ExampleRun_filterAndGroup() {
	in := ingest.Options{Stdin: strings.NewReader(tenants)}.Open(ingest.Stdin)
	r, err := analyze.Run(context.Background(), in, analyze.Options{
		By:     []key.Key{key.Attr("tenant")},
		Filter: func(e *op.Entry) bool { return e.Operation != "copy" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range r.Groups {
		fmt.Println(g.Key, g.SumNS)
	}
	fmt.Printf("%d entries of %d spans, %v left out\n", r.Input.Entries, r.Input.Spans, r.Input.SkippedBy)
	// Output:
	// a 300
	// b 200
	// 2 entries of 3 spans, map[filtered:1] left out
}
