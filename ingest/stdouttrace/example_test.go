package stdouttrace_test

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/ingest/stdouttrace"
)

func ExampleRecords() {
	output := `{"Name":"op/relu","SpanContext":{"TraceID":"0af7651916cd43dd8448eb211c80319c",
		"SpanID":"00f067aa0ba902b7"},
	"StartTime":"2026-11-21T01:00:00.000000001Z","EndTime":"2026-11-21T01:00:00.000000602Z","Attributes":[
		{"Key":"tensor.op.name","Value":{"Type":"STRING","Value":"relu"}},
		{"Key":"tensor.output.shape","Value":{"Type":"INT64SLICE","Value":[64,256]}}]}`
	for rec, err := range stdouttrace.Records(strings.NewReader(output), "output", nil) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.OutputShape, e.Duration, "ns")
		}
	}
	// Output:
	// relu 64x256 601 ns
}
