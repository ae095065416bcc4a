package perfetto_test

import (
	"bytes"
	"fmt"

	"github.com/optrace/optrace/ingest/perfetto"
	"github.com/optrace/optrace/op"
	render "github.com/optrace/optrace/render/perfetto"
)

func ExampleRecords() {
	var t render.Timeline
	t.Add(&op.Entry{Operation: "matmul", DeviceID: "cuda:0", Start: op.Known(1000), Duration: 120_500,
		OutputShape: op.Shape{64, 256}})
	var file bytes.Buffer
	if err := t.Write(&file); err != nil {
		panic(err)
	}

	for rec, err := range perfetto.Records(&file, "ops.pftrace", nil) {
		if err != nil {
			panic(err)
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.DeviceID, e.OutputShape, e.Duration, "ns")
		}
	}
	// Output: matmul cuda:0 64x256 120500 ns
}
