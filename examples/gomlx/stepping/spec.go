package stepping

import (
	"slices"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// spec describes the step to the recorder.
func (s *step) spec(device string) optrace.OpSpec {
	spec := optrace.OpSpec{Name: s.name, Device: device, Path: s.path, Kind: kindOf(s.name), FLOPs: s.flops, Inputs: []op.Shape{}}
	types := make([]op.DType, len(s.operands))
	for i, v := range s.operands {
		spec.Inputs = append(spec.Inputs, dims(v.shape))
		types[i] = dtypeOf(v.shape.DType)
	}
	// An operation has one output. That of those with several, such as the next state and the
	// numbers of a random generator, is the largest; the size is that of all.
	largest, size := s.outputs[0].shape, int64(0)
	for _, v := range s.outputs {
		size += int64(v.shape.Memory())
		if v.shape.Memory() > largest.Memory() {
			largest = v.shape
		}
	}
	spec.Output, spec.DType = dims(largest), dtypeOf(largest.DType)
	if slices.ContainsFunc(types, func(t op.DType) bool { return t != spec.DType }) {
		spec.Attrs = append(spec.Attrs, tensorconv.InputDTypes(types...))
	}
	if len(s.outputs) > 1 {
		spec.Attrs = append(spec.Attrs, tensorconv.MemorySize(size))
	}
	return spec
}

// kindOf returns the kind of the operation of a name. It is stated because names mislead:
// BroadcastInDim repeats values on one device, and is no broadcast to others.
func kindOf(name string) op.Kind {
	switch name {
	case "AllReduce":
		return op.KindCollective
	case "Bitcast", "BroadcastInDim", "Concatenate", "DynamicSlice", "DynamicUpdateSlice", "Gather", "Identity", "Iota", "Pad",
		"Reshape", "Reverse", "Slice", "Transpose":
		return op.KindMemory
	}
	return op.KindCompute
}

// dims returns the dimensions of a shape.
func dims(s shapes.Shape) op.Shape {
	d := make(op.Shape, len(s.Dimensions))
	for i, n := range s.Dimensions {
		d[i] = int64(n)
	}
	return d
}

// dtypeOf returns the short spelling of an element type. One that has none keeps its own.
func dtypeOf(t dtypes.DType) op.DType {
	short, _ := op.ParseDType(strings.ToLower(t.String()))
	return short
}
