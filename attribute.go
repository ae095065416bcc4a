package optrace

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
)

// The attributes of an operation, for those who keep their own tracer. Set
// them with one SetAttributes call and name the span like the operation:
//
//	ctx, span := tracer.Start(ctx, "matmul")
//	span.SetAttributes(
//		optrace.OpName("matmul"), optrace.Device("cuda:0"), optrace.DataType(op.F32),
//		optrace.InputShapes([]int64{64, 784}, []int64{784, 256}), optrace.OutputShape(64, 256))
//	defer span.End()

// OpName returns the attribute that makes a span an operation: tensor.op.name.
func OpName(name string) attribute.KeyValue { return attribute.String(op.KeyName, name) }

// OpKind returns tensor.op.kind. Without it the kind is inferred from the name.
func OpKind(kind op.Kind) attribute.KeyValue { return attribute.String(op.KeyKind, kind.String()) }

// OpPath returns tensor.op.path, the layer or module.
func OpPath(path string) attribute.KeyValue { return attribute.String(op.KeyPath, path) }

// FLOPs returns tensor.op.flop_count, the floating-point operations done.
func FLOPs(n int64) attribute.KeyValue { return attribute.Int64(op.KeyFLOPs, n) }

// Device returns tensor.device.id, such as "cuda:0" or "cpu".
func Device(id string) attribute.KeyValue { return attribute.String(op.KeyDevice, id) }

// Stream returns tensor.stream.id, the device's queue.
func Stream(id int64) attribute.KeyValue { return attribute.Int64(op.KeyStream, id) }

// DataType returns tensor.dtype, the element type of the output.
func DataType(t op.DType) attribute.KeyValue { return attribute.String(op.KeyDType, string(t)) }

// InputDataTypes returns tensor.input.dtypes, an element type per input.
func InputDataTypes(types ...op.DType) attribute.KeyValue {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return attribute.StringSlice(op.KeyInputDTypes, names)
}

// InputShapes returns tensor.input.shapes, a slice of dimensions per input.
// The slices are copied.
func InputShapes(shapes ...[]int64) attribute.KeyValue {
	return attribute.Slice(op.KeyInputShapes, shapeValues(shapes)...)
}

func shapeValues(shapes [][]int64) []attribute.Value {
	values := make([]attribute.Value, len(shapes))
	for i, s := range shapes {
		values[i] = attribute.Int64SliceValue(s)
	}
	return values
}

// InputShapeTexts returns tensor.input.shapes as strings such as "64x784", for
// backends that do not show nested values. Strings are subject to the SDK's
// length limit, which may cut one shape into another.
func InputShapeTexts(shapes ...[]int64) attribute.KeyValue {
	texts := make([]string, len(shapes))
	for i, s := range shapes {
		texts[i] = shapeText(s)
	}
	return attribute.StringSlice(op.KeyInputShapes, texts)
}

// shapeText is the text of a shape that readers understand: op.Shape's, but
// for a scalar and for dynamic dimensions, which have no short form.
func shapeText(dims []int64) string {
	for _, d := range dims {
		if d < 0 {
			return attribute.Int64SliceValue(dims).String()
		}
	}
	if len(dims) == 0 {
		return "[]"
	}
	return op.Shape(dims).String()
}

// InputShapeAt returns tensor.input.N.shape, the shape of the i-th input in an
// attribute of its own, for backends that show neither nested values nor lists
// of strings well.
func InputShapeAt(i int, dims ...int64) attribute.KeyValue {
	return attribute.Int64Slice(op.InputShapeKey(i), dims)
}

// OutputShape returns tensor.output.shape; no dimensions are a scalar.
func OutputShape(dims ...int64) attribute.KeyValue {
	return attribute.Int64Slice(op.KeyOutputShape, dims)
}

// Step returns tensor.step, the iteration.
func Step(n int64) attribute.KeyValue { return attribute.Int64(op.KeyStep, n) }

// Memory returns tensor.memory.size in bytes. Without it the size follows from
// the output's shape and element type.
func Memory(bytes int64) attribute.KeyValue { return attribute.Int64(op.KeyMemory, bytes) }

// Rank returns tensor.rank, the process in a distributed job. It belongs on
// the resource.
func Rank(rank int64) attribute.KeyValue { return attribute.Int64(op.KeyRank, rank) }

// WorldSize returns tensor.world_size, the number of ranks. It belongs on the
// resource.
func WorldSize(n int64) attribute.KeyValue { return attribute.Int64(op.KeyWorldSize, n) }

// CollectiveName returns tensor.collective.name, such as "all_reduce". Any
// attribute of the collective family makes an operation communication.
func CollectiveName(name string) attribute.KeyValue {
	return attribute.String(op.KeyCollective, name)
}

// CollectiveGroup returns tensor.collective.group.name.
func CollectiveGroup(name string) attribute.KeyValue { return attribute.String(op.KeyGroup, name) }

// CollectiveGroupSize returns tensor.collective.group.size, the ranks of the group.
func CollectiveGroupSize(n int64) attribute.KeyValue { return attribute.Int64(op.KeyGroupSize, n) }

// CollectiveSequence returns tensor.collective.sequence, which with the
// group's name identifies one collective on all ranks.
func CollectiveSequence(n int64) attribute.KeyValue { return attribute.Int64(op.KeySequence, n) }

// CollectivePeerRank returns tensor.collective.peer_rank, the other side of a
// send or receive.
func CollectivePeerRank(rank int64) attribute.KeyValue {
	return attribute.Int64(op.KeyPeerRank, rank)
}

// CollectiveElements returns tensor.collective.in_elements and out_elements,
// the sizes of the message before and after, in elements.
func CollectiveElements(in, out int64) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.Int64(op.KeyInElements, in), attribute.Int64(op.KeyOutElements, out)}
}

// HostSide returns tensor.op.side = "host", for the host's view of an operation
// whose device work is recorded by itself. It takes no part in device sums.
func HostSide() attribute.KeyValue { return attribute.String(op.KeySide, op.SideHost.String()) }
