package analyze_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

const batch = `{"schema":"optrace.entries/v1","resource":{"service":"trainer"}}
{"operation":"matmul","device_id":"cuda:0","output_shape":[64,256],"dtype":"f32","start_unix_ns":1000,"duration_us":0.3}
{"operation":"matmul","device_id":"cuda:1","output_shape":[32,256],"dtype":"f32","start_unix_ns":1000,"duration_us":0.2}
{"operation":"allreduce","device_id":"cuda:0","output_shape":[64],"start_unix_ns":1200,"duration_us":0.3}
{"operation":
{"gap":{"dropped":7,"reason":"queue_full"}}
`

// A report starts with its input: nothing that could not be read or was lost
// before is left out in silence. Files are read with ingest.Open(paths...) in
// place of the reader of a string here.
func ExampleRun() {
	records := op.NewReader(strings.NewReader(batch), "ops.jsonl").Records()
	r, err := analyze.Run(context.Background(), analyze.Records(records), analyze.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d entries, %d malformed, %d dropped\n", r.Input.Entries, r.Input.Malformed, r.Input.Dropped)
	for _, row := range r.Operations {
		fmt.Printf("%s: %d times, %d ns, share %.3f, mixes %v\n", row.Operation, row.Count, row.SumNS, row.Share.V, row.Mixes)
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

// Profiles of parts of an input, such as the shards of a live profile, merge to
// the profile of all of it.
func ExampleProfile_Merge() {
	entries := []op.Entry{
		{Operation: "matmul", Duration: 300},
		{Operation: "relu", Duration: 50},
		{Operation: "matmul", Duration: 500},
		{Operation: "relu", Duration: 70},
	}
	opts := analyze.SumOptions{Top: 1}
	first, second := analyze.NewProfile(opts), analyze.NewProfile(opts)
	for i := range entries[:2] {
		first.Add(&entries[i])
		second.Add(&entries[2+i])
	}
	first.Merge(second)
	r := analyze.ReportOn(first)
	for _, row := range r.Operations {
		fmt.Printf("%s: %d times, mean %g ns, p50 %g ns, std %.1f ns\n", row.Operation, row.Count, row.MeanNS, row.P50NS.V, row.StdNS.V)
	}
	fmt.Println("slowest:", r.Slowest[0].Operation, r.Slowest[0].Duration, "ns")
	// Output:
	// matmul: 2 times, mean 400 ns, p50 300 ns, std 141.4 ns
	// relu: 2 times, mean 60 ns, p50 50 ns, std 14.1 ns
	// slowest: matmul 500 ns
}

// Entries can be grouped by anything they carry, attributes included.
func ExampleParseKeys() {
	keys, err := analyze.ParseKeys("operation,attr:tenant")
	if err != nil {
		fmt.Println(err)
		return
	}
	p := analyze.NewProfile(analyze.SumOptions{By: keys})
	for _, e := range []op.Entry{
		{Operation: "matmul", Duration: 300, Attrs: []op.Attr{{Key: "tenant", Value: "blue"}}},
		{Operation: "matmul", Duration: 500, Attrs: []op.Attr{{Key: "tenant", Value: "green"}}},
		{Operation: "matmul", Duration: 100},
		{Operation: "matmul", Duration: 300, Attrs: []op.Attr{{Key: "tenant", Value: "blue"}}},
	} {
		p.Add(&e)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, g := range analyze.ReportOn(p).Groups {
		fmt.Fprintf(w, "%s\t%d\t%d ns\n", g.Key, g.Count, g.SumNS)
	}
	w.Flush()
	// Output:
	// matmul, blue     2  600 ns
	// matmul, green    1  500 ns
	// matmul, unknown  1  100 ns
}
