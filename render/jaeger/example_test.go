package jaeger_test

import (
	"bytes"
	"fmt"

	ingest "github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/jaeger"
)

// The JSON is the format of Jaeger's API; its page opens it by "JSON File".
func ExampleTraces() {
	var t jaeger.Traces
	t.Add(&op.Entry{
		Operation: "matmul", DeviceID: "cuda:0", Service: "trainer", Start: op.Known(1000), Duration: 121_000,
		TraceID: op.TraceID{1}, SpanID: op.SpanID{2},
	})

	var file bytes.Buffer
	if err := t.Write(&file); err != nil {
		panic(err)
	}
	for rec, err := range ingest.Records(&file, "traces.json", nil) {
		if err != nil {
			panic(err)
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.DeviceID, e.Service, e.Duration, "ns")
		}
	}
	// Output: matmul cuda:0 trainer 121000 ns
}
