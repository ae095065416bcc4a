package selection_test

import (
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// A kernel for a chain reads and writes its data once: of ten equal operations one remains, of eight of an optimizer a
// third. Another step is another run.
func TestAFusedKernelReadsAndWritesItsDataOnce(t *testing.T) {
	const us, empty = 1_000, 2_000
	adam := []string{"mul_", "lerp_", "mul_", "addcmul_", "sqrt", "div_", "add_", "addcdiv_"}
	moved := []int64{200, 300, 200, 400, 200, 200, 200, 400} // µs
	for _, test := range []struct {
		names      []string
		us         []int64
		n, perStep int
		want       [][3]int64 // of each run: µs, at least, tensors
	}{
		{[]string{"add"}, []int64{300}, 10, 10, [][3]int64{{300, 300, 0}}},
		{[]string{"add"}, []int64{300}, 10, 5, [][3]int64{{300, 300, 0}, {300, 300, 0}}},
		{adam, moved, 64, 64, [][3]int64{{8 * 700, 8 * 200, 8}}},
		{adam, moved, 16, 16, [][3]int64{{700, 200, 0}}}, // two tensors may be one
	} {
		f := trace.New()
		for i := range test.n {
			f.Add(op.Record{Entry: &op.Entry{
				Operation: test.names[i%len(test.names)], Kind: op.KindCompute, DeviceID: "cuda:0",
				Step: op.Known(int64(i / test.perStep)), Start: op.Known(int64(i) * 1_000_000),
				Duration: empty + test.us[i%len(test.us)]*us,
			}})
		}
		f.Build()
		var got [][3]int64
		for run := range selection.Runs(f, slices.Clone(f.Devices.ByStart), selection.ElementwiseRun(f)) {
			ns, least, tensors := selection.Fused(f, run)
			got = append(got, [3]int64{(ns - empty) / us, (least - empty) / us, tensors})
		}
		check.Equal(t, "runs", test.want, got)
	}
}
