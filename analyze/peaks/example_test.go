package peaks_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/op"
)

func ExampleParse() {
	table, err := peaks.Parse([]byte(`{"devices": [
		{"match": "cuda:*", "device": "nvidia-h100-sxm"},
		{"match": "cpu*", "name": "our hosts", "memory_bytes_per_second": 2e11, "flops_per_second": {"f32": 3e12}}
	]}`))
	if err != nil {
		panic(err)
	}
	for _, id := range []string{"cuda:3", "cpu"} {
		d := table.Find(id)
		fmt.Printf("%s: %s, %.3g bytes/s, %.3g FLOP/s in f32\n", id, d.Name, d.BytesPerSecond, d.FLOPsPerSecond[op.F32])
	}
	// Output:
	// cuda:3: NVIDIA H100 SXM, 3.35e+12 bytes/s, 6.7e+13 FLOP/s in f32
	// cpu: our hosts, 2e+11 bytes/s, 3e+12 FLOP/s in f32
}
