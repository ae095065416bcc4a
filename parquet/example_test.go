package parquet_test

import (
	"bytes"
	"fmt"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

func ExampleRecordsAt() {
	var file bytes.Buffer
	w := parquet.NewWriter(&file)
	e := op.Entry{Operation: "matmul", DeviceID: "cuda:0", Duration: 120_500, OutputShape: op.Shape{64, 256}}
	if err := w.Entry(&e); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	for rec, err := range parquet.RecordsAt(bytes.NewReader(file.Bytes()), int64(file.Len()), "ops.parquet") {
		if err != nil {
			panic(err)
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.DeviceID, e.OutputShape, e.Duration, "ns")
		}
	}
	// Output: matmul cuda:0 64x256 120500 ns
}
