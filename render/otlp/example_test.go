package otlp_test

import (
	"bytes"
	"fmt"

	ingest "github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlp"
)

func ExampleWriter() {
	var lines bytes.Buffer
	w := otlp.NewWriter(&lines)
	e := op.Entry{
		Operation: "matmul", DeviceID: "cuda:0", Start: op.Known(1000), Duration: 120_500, TraceID: op.TraceID{1},
		SpanID: op.SpanID{2},
	}
	if err := w.Entry(&e); err != nil {
		panic(err)
	}
	if err := w.Flush(); err != nil {
		panic(err)
	}
	for rec, err := range ingest.JSONRecords(&lines, "spans.jsonl", nil) {
		if err != nil {
			panic(err)
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.DeviceID, e.Duration, "ns")
		}
	}
	// Output: matmul cuda:0 120500 ns
}
