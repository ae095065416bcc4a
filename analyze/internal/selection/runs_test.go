package selection_test

import (
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// A kernel in the place of a chain reads and writes what comes from elsewhere and what it leaves: of ten equal operations
// one remains, of eight of an optimizer a third. Another step is another run.
func TestAFusedKernelReadsAndWritesItsDataOnce(t *testing.T) {
	const us, empty = 1_000, 2_000
	adam := []string{"mul_", "lerp_", "mul_", "addcmul_", "sqrt", "div_", "add_", "addcdiv_"}
	moved := []int64{2, 3, 2, 4, 2, 2, 2, 4} // tensors read and written
	for _, test := range []struct {
		name               string
		names              []string
		units              []int64
		n, perStep         int
		ns, least, tensors []int64 // of each run
	}{
		{"equal ones", []string{"add"}, []int64{3}, 10, 10, []int64{300}, []int64{300}, []int64{0}},
		{"two steps", []string{"add"}, []int64{3}, 10, 5, []int64{300, 300}, []int64{300, 300}, []int64{0, 0}},
		{"an optimizer", adam, moved, 64, 64, []int64{8 * 700}, []int64{8 * 400}, []int64{8}},
		{"two tensors are a chain", adam, moved, 16, 16, []int64{(2*21 - 15*2) * 100}, []int64{400}, []int64{0}},
	} {
		f := trace.New()
		for i := range test.n {
			e := &op.Entry{
				Operation: test.names[i%len(test.names)], Kind: op.KindCompute, DeviceID: "cuda:0",
				Step: op.Known(int64(i / test.perStep)), Start: op.Known(int64(i) * 1_000_000),
				Duration: empty + test.units[i%len(test.units)]*100*us,
			}
			f.Add(op.Record{Entry: e})
		}
		f.Build()
		var ns, least, tensors []int64
		for run := range selection.Runs(f, slices.Clone(f.Devices.ByStart), selection.ElementwiseRun(f)) {
			of, most, n := selection.Fused(f, run)
			ns, least, tensors = append(ns, (of-empty)/us), append(least, (most-empty)/us), append(tensors, n)
		}
		check.Equal(t, test.name, test.ns, ns)
		check.Equal(t, test.name+", at least", test.least, least)
		check.Equal(t, test.name+", tensors", test.tensors, tensors)
	}
}
