package perfetto_test

import (
	"bytes"
	"fmt"

	ingest "github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/perfetto"
)

func ExampleTimeline() {
	var t perfetto.Timeline
	t.Add(&op.Entry{Operation: "matmul", DeviceID: "cuda:0", Start: op.Known(1000), Duration: 120_500})

	var file bytes.Buffer
	if err := t.Write(&file); err != nil {
		panic(err)
	}
	for rec, err := range ingest.Records(&file, "ops.pftrace", nil) {
		if err != nil {
			panic(err)
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.DeviceID, e.Duration, "ns")
		}
	}
	// Output: matmul cuda:0 120500 ns
}
