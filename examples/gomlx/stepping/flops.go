package stepping

import (
	"github.com/gomlx/gomlx/backends"

	"github.com/optrace/optrace/op"
)

// The FLOPs of products follow from the axes that they sum over, so these operations
// record them. Those of most others follow from the name and the shapes, and reports
// tell them.

// Dot is the product of vectors and matrices, which sums over the last axis of lhs.
func (b *Builder) Dot(lhs, rhs backends.Op) (backends.Op, error) {
	out, err := b.ops.Dot(lhs, rhs)
	return summing(out, err, func(s *step) int64 {
		d := s.operands[0].shape.Dimensions
		if len(d) == 0 {
			return 1
		}
		return int64(d[len(d)-1])
	})
}

// DotGeneral is a product of tensors, which sums over the contracting axes.
func (b *Builder) DotGeneral(
	lhs backends.Op, lhsContractingAxes, lhsBatchAxes []int, rhs backends.Op, rhsContractingAxes, rhsBatchAxes []int,
) (backends.Op, error) {
	out, err := b.ops.DotGeneral(lhs, lhsContractingAxes, lhsBatchAxes, rhs, rhsContractingAxes, rhsBatchAxes)
	return summing(out, err, func(s *step) int64 {
		length := int64(1)
		for _, axis := range lhsContractingAxes {
			length *= int64(s.operands[0].shape.Dim(axis))
		}
		return length
	})
}

// ConvGeneral is a convolution. It sums over the kernel of each output channel.
func (b *Builder) ConvGeneral(
	input, kernel backends.Op, axes backends.ConvolveAxesConfig, strides []int, paddings [][2]int,
	inputDilations, kernelDilations []int, channelGroupCount, batchGroupCount int,
) (backends.Op, error) {
	out, err := b.ops.ConvGeneral(input, kernel, axes, strides, paddings, inputDilations, kernelDilations,
		channelGroupCount, batchGroupCount)
	return summing(out, err, func(s *step) int64 {
		k := s.operands[1].shape
		return int64(k.Size() / max(1, k.Dim(axes.KernelOutputChannels)))
	})
}

// summing counts a multiplication and an addition for each term of the sums that an operation
// computes, one sum of so many terms for each element of its output. Positions outside the input,
// which are padding, count as well.
func summing(out backends.Op, err error, terms func(*step) int64) (backends.Op, error) {
	if err != nil {
		return nil, err
	}
	v := out.(*value)
	v.step.flops = op.Known(2 * int64(v.shape.Size()) * terms(v.step))
	return out, nil
}
