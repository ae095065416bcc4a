package ort_test

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/ingest/ort"
)

func ExampleRecords() {
	profile := `[{"cat":"Node","ph":"X","ts":2002,"dur":857,"name":"conv1_kernel_time","args":{
		"op_name":"Conv","provider":"CPUExecutionProvider","output_type_shape":[{"float":[1,64,111,111]}]}}]`
	for rec, err := range ort.Records(strings.NewReader(profile), "profile.json", nil) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.Path, e.DeviceID, e.DType, e.OutputShape, e.Duration, "ns")
		}
	}
	// Output:
	// Conv conv1 cpu f32 1x64x111x111 857000 ns
}
