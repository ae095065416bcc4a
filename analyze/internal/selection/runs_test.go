package selection_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
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
		{adam, moved, 64, 64, [][3]int64{{8 * 700, 8 * 400, 8}}},
		{adam, moved, 16, 16, [][3]int64{{1200, 400, 0}}}, // two tensors may be one
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

// What a few calls take beyond their like does not count against an operation. Half of the calls, or calls of other
// work, do.
func TestTheUsualTimeIsWithoutSlowCalls(t *testing.T) {
	const us = 1_000
	for _, test := range []struct {
		name     string
		us       []int64 // of the calls, in turn
		rows     []int64 // of their product
		operator string
		want     int64 // µs, of twelve calls
	}{
		{"equal calls", []int64{100}, []int64{64}, "", 1200},
		{"one of six slow", []int64{100, 100, 100, 100, 100, 800}, []int64{64}, "aten::mm", 1200}, // as one layer
		{"a bit slower", []int64{100, 100, 150}, []int64{64}, "", 1400},
		{"most are slow", []int64{100, 400, 400}, []int64{64}, "", 3600},
		{"more work", []int64{100, 400}, []int64{64, 256}, "", 3000},
	} {
		f := trace.New()
		sum := int64(0)
		for i := range 12 {
			rows := test.rows[i%len(test.rows)]
			sum += rows
			const psPerRow = 1_000_000
			f.AddOp(&op.Entry{
				Operation: "gemm", Kind: op.KindCompute, DeviceID: "cuda:0", LaunchedBy: test.operator,
				Start: op.Known(int64(i) * 1_000_000), Duration: test.us[i%len(test.us)] * us,
			}, work.Work{Flops: rows, Bound: rows * psPerRow})
		}
		f.Build()
		all, _ := selection.Reaches(f, 1)
		want := []selection.Reach{{
			Name: cmp.Or(test.operator, "gemm"), IsOperator: test.operator != "", Bound: work.BoundCompute, All: 12, Slow: 12,
			NS: test.want * us, LeastNS: 1000 * sum,
		}}
		check.Equal(t, test.name, want, all)
	}
}
