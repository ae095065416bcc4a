package csv_test

import (
	"bytes"
	stdcsv "encoding/csv"
	"fmt"
	"slices"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/csv"
)

func ExampleWriteEntries() {
	entries := []*op.Entry{{Operation: "matmul", DeviceID: "cuda:0", Duration: 120_500, OutputShape: op.Shape{64, 256}}}
	var file bytes.Buffer
	if err := csv.WriteEntries(&file, entries, csv.Options{}); err != nil {
		panic(err)
	}
	rows, err := stdcsv.NewReader(&file).ReadAll()
	if err != nil {
		panic(err)
	}
	for _, column := range []string{"operation", "device_id", "output_shape", "duration_ns"} {
		fmt.Println(column, rows[1][slices.Index(rows[0], column)])
	}
	// Output:
	// operation matmul
	// device_id cuda:0
	// output_shape 64x256
	// duration_ns 120500
}
