package arrow_test

import (
	"bytes"
	"fmt"

	ingest "github.com/optrace/optrace/ingest/arrow"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/arrow"
)

func ExampleWriter() {
	var stream bytes.Buffer
	w := arrow.NewWriter(&stream, arrow.WithLZ4())
	e := op.Entry{Operation: "matmul", DeviceID: "cuda:0", Duration: 120_500, OutputShape: op.Shape{64, 256}}
	if err := w.Entry(&e); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	for rec, err := range ingest.Records(&stream, "ops.arrows", nil) {
		if err != nil {
			panic(err)
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.DeviceID, e.OutputShape, e.Duration, "ns")
		}
	}
	// Output: matmul cuda:0 64x256 120500 ns
}
