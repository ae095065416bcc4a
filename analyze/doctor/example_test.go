package doctor_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/doctor"
	"github.com/optrace/optrace/op/entries"
)

func ExampleRun() {
	const batch = `{"operation":"matmul","start_unix_ns":1000,"duration_us":0.3,` +
		`"input_shapes":[[64,784],[784,256]],"output_shape":[64,256]}
{"operation":"relu","start_unix_ns":1400,"duration_us":0.1}
`
	records := entries.NewReader(strings.NewReader(batch), "ops.jsonl").Records()
	report, err := doctor.Run(context.Background(), analyze.Records(records))
	if err != nil {
		panic(err)
	}
	for _, f := range report.Findings {
		if f.Missing == 0 {
			continue
		}
		fmt.Printf("%s: missing in %d of %d %s\n", f.Name, f.Missing, f.Count, f.Of)
	}
	// Output:
	// ids: missing in 2 of 2 operations
	// parents: missing in 2 of 2 operations
	// devices: missing in 2 of 2 operations
	// input_shapes: missing in 1 of 2 operations that compute
	// output_shapes: missing in 1 of 2 operations that compute
	// dtypes: missing in 2 of 2 operations that compute
	// memory: missing in 1 of 2 operations that compute, communicate or move data
	// flops: missing in 1 of 2 operations that compute
	// steps: missing in 2 of 2 operations
	// services: missing in 2 of 2 operations
}
