package selection

import (
	"iter"
	"slices"
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
	inPlace, _ := strings.CutSuffix(name, "_") // as in PyTorch
	return flops.IsElementwise(inPlace) || strings.Contains(name, "elementwise_kernel")
}

// ElementwiseRun returns a length for [Runs]: the number of elementwise operations of a step at the begin of rows, 0 for a
// single one.
func ElementwiseRun(f *trace.Forest) func(rows []int32) int {
	isElementwise := make([]bool, len(f.Names.Operations.Values))
	for i, name := range f.Names.Operations.Values {
		isElementwise[i] = IsElementwise(name)
	}
	return runOf(f, 2, func(r int32) bool { return f.Has(r, trace.FlagOp) && isElementwise[f.Name(r)] })
}

// runOf returns the number of operations of a step with a property at the begin of rows, 0 for less than few.
func runOf(f *trace.Forest, few int, is func(r int32) bool) func(rows []int32) int {
	return func(rows []int32) int {
		n := 0
		for n < len(rows) && is(rows[n]) && f.Step(rows[n]) == f.Step(rows[0]) {
			n++
		}
		if n < few {
			return 0
		}
		return n
	}
}

// EmptyKernel is the time of an empty kernel in ns: 1.5 to 2.5 µs on NVIDIA's devices since 2017. A fused one takes it once, and
// its work as long as before.
const EmptyKernel = 2_000

// Fused returns the time of one kernel for a run of elementwise operations, and the least: the shortest operation on the same
// data, of at least half the longest. Within a chain the kernel does not write and read again what one operation hands to the next: as much as the
// shorter one of both reads and writes. Of what the next one reads beyond that, half comes from the chain, too. tensors is the
// number of tensors that the run goes through with the same operations, as an optimizer does, 0 for others: an optimizer reads
// its state beyond that.
func Fused(f *trace.Forest, run []int32) (ns, least, tensors int64) {
	chains, tensors := chainsOf(f, run)
	for _, chain := range chains {
		before, longest, fused := int64(0), int64(0), int64(0)
		for _, r := range chain {
			took := max(0, f.Duration(r)-EmptyKernel)
			longest = max(longest, took)
			if more := max(0, took-before); tensors > 0 || before == 0 {
				fused += more
			} else {
				fused += more / 2
			}
			before = took
		}
		ns += max(longest, fused)
		one := longest
		for _, r := range chain {
			if took := max(0, f.Duration(r)-EmptyKernel); 2*took >= longest {
				one = min(one, took)
			}
		}
		least += one
	}
	return ns + EmptyKernel, least + EmptyKernel, tensors
}

// chainsOf divides a run where at least four rounds of the same names begin, of another tensor each, and counts these.
func chainsOf(f *trace.Forest, run []int32) (chains [][]int32, tensors int64) {
	const rounds, most = 4, 64
	isLike := func(a, b int32) bool { return f.Name(a) == f.Name(b) }
	isRound := func(rows []int32, n int) bool {
		return slices.EqualFunc(rows[n:rounds*n], rows[:(rounds-1)*n], isLike) &&
			slices.ContainsFunc(rows[:n], func(r int32) bool { return !isLike(r, rows[0]) })
	}
	for i := range run {
		for n := 2; n <= most && i+rounds*n <= len(run); n++ {
			if rest := run[i:]; isRound(rest, n) {
				for chains = append(chains, run[:i]); len(rest) >= n && slices.EqualFunc(rest[:n], run[i:i+n], isLike); rest = rest[n:] {
					chains = append(chains, rest[:n])
				}
				return append(chains, rest), int64(len(chains) - 1)
			}
		}
	}
	return append(chains, run), 0
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
	return runOf(f, few, func(r int32) bool {
		return f.Duration(r) < short && f.Kind(r) == op.KindCompute && !isProduct(f, r)
	})
}
