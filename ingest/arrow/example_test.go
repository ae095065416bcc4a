package arrow_test

import (
	"bytes"
	"fmt"

	"github.com/optrace/optrace/ingest/arrow"
	"github.com/optrace/optrace/op"
	render "github.com/optrace/optrace/render/arrow"
)

func ExampleRecordsAt() {
	var file bytes.Buffer
	w := render.NewWriter(&file)
	e := op.Entry{Operation: "matmul", DeviceID: "cuda:0", Duration: 120_500, OutputShape: op.Shape{64, 256}}
	if err := w.Entry(&e); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	for rec, err := range arrow.RecordsAt(bytes.NewReader(file.Bytes()), int64(file.Len()), "ops.arrow", nil) {
		if err != nil {
			panic(err)
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.DeviceID, e.OutputShape, e.Duration, "ns")
		}
	}
	// Output: matmul cuda:0 64x256 120500 ns
}
