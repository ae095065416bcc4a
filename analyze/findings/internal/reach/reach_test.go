package reach_test

import (
	"cmp"
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/reach"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

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
		all, _ := reach.Of(f, 1)
		want := []reach.Reach{{
			Name: cmp.Or(test.operator, "gemm"), IsOperator: test.operator != "", Bound: work.BoundCompute,
			All: 12, Slow: 12, NS: test.want * us, LeastNS: 1000*sum + 12*2*us,
		}}
		check.Equal(t, test.name, want, all)
	}
}
