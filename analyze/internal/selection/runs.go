package selection

import (
	"iter"
	"strings"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Runs yields the runs of operations on each stream. length returns the number of operations of the run that rows begin
// with, 0 without one.
func Runs(f *trace.Forest, ops []int32, length func(rows []int32) int) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		streams, first := order.GroupRows(ops, f.Devices.NumStreams(), nil, func(i int32) int32 {
			return f.DeviceStreamOf(ops[i])
		})
		for stream := range first[1:] {
			rows := streams[first[stream]:first[stream+1]]
			order.Rows(rows, f.Start, f.CompareStart)
			for len(rows) > 0 {
				n := length(rows)
				if n > 0 && !yield(rows[:n]) {
					return
				}
				rows = rows[max(1, n):]
			}
		}
	}
}

// IsElementwise reports whether name is an operation element by element, or a kernel for one.
func IsElementwise(name string) bool {
	return flops.IsElementwise(name) || strings.Contains(name, "elementwise_kernel")
}

// ElementwiseRun returns a length for [Runs]: the number of elementwise operations at the begin of rows, 0 for a single one.
func ElementwiseRun(f *trace.Forest) func(rows []int32) int {
	return func(rows []int32) int {
		n := 0
		for n < len(rows) && IsElementwise(f.RowName(rows[n])) {
			n++
		}
		if n < 2 {
			return 0
		}
		return n
	}
}

// isProduct reports whether the operation in row r is a product or a convolution, of many FLOPs for each element. It is
// not fused with others into one kernel.
func isProduct(f *trace.Forest, r int32) bool {
	const many = 16 // a norm has about 8
	return f.Flops(r) > many*f.Elements(r) && f.Elements(r) > 0 || strings.Contains(f.RowName(r), "gemm")
}

// ShortRun returns a length for [Runs]: the number of short operations of a step at the begin of rows, without products,
// 0 for a few.
func ShortRun(f *trace.Forest) func(rows []int32) int {
	const (
		few   = 4
		short = 10_000 // ns
	)
	return func(rows []int32) int {
		n := 0
		for n < len(rows) && f.Duration(rows[n]) < short && f.Kind(rows[n]) == op.KindCompute &&
			f.Step(rows[n]) == f.Step(rows[0]) && !isProduct(f, rows[n]) {
			n++
		}
		if n < few {
			return 0
		}
		return n
	}
}
