// Code generated from docs/registry by tensorconv/generate.go; DO NOT EDIT.

package tensorconv

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/model/attrkey"
)

// The attributes of an operation.
const (
	// OpNameKey is the name of the operation, such as "matmul". Its presence makes a span an operation. It has few
	// distinct values, and is the name of the span too.
	OpNameKey = attribute.Key(attrkey.Name)
	// OpKindKey is the kind of the operation: compute, collective, memory, io or control. Without it the kind is inferred
	// from the name.
	OpKindKey = attribute.Key(attrkey.Kind)
	// OpPathKey is the layer or module that the operation belongs to.
	OpPathKey = attribute.Key(attrkey.Path)
	// OpFLOPCountKey is the number of floating-point operations.
	OpFLOPCountKey = attribute.Key(attrkey.FLOPs)
	// OpSideKey is the side of an operation that is there twice. It is "host" for the host's view of an operation whose
	// work on the device is recorded separately. Such an operation takes no part in the sums of the device.
	OpSideKey = attribute.Key(attrkey.Side)
)

// The attributes of the tensors of an operation.
const (
	// InputShapesKey is the shapes of the inputs, a list of dimensions each. A list of lists of integers, or of texts such
	// as 64x784 or [64,784], for SDKs that do not nest values and backends that do not show them. No dimensions are a
	// scalar, [] as a text; an empty value, ? as a text, is a shape that is not known; and a dimension of -1, in brackets
	// where it is a text, is not known.
	InputShapesKey = attribute.Key(attrkey.InputShapes)
	// InputDTypesKey is the element types of the inputs.
	InputDTypesKey = attribute.Key(attrkey.InputDTypes)
	// OutputShapeKey is the dimensions of the output. No dimensions are a scalar, and a dimension of -1 is not known.
	OutputShapeKey = attribute.Key(attrkey.OutputShape)
	// OutputElementsKey is the number of elements of the output, for operations that do not know its shape.
	OutputElementsKey = attribute.Key(attrkey.OutputElements)
	// DTypeKey is the element type of the output, such as f32, bf16 or i64. The types are f64, f32, bf16, f16, f8e4m3,
	// f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8, bool, c64 (8 bytes) and c128. Readers take the spellings of PyTorch
	// and NumPy as well.
	DTypeKey = attribute.Key(attrkey.DType)
	// MemorySizeKey is the size of the output in bytes. Without it the size follows from the shape and element type of the
	// output.
	MemorySizeKey = attribute.Key(attrkey.Memory)
)

// The attributes of where and when an operation ran.
const (
	// DeviceIDKey is the device that runs the operation, such as "cuda:0" or "cpu".
	DeviceIDKey = attribute.Key(attrkey.Device)
	// StreamIDKey is the queue of the device.
	StreamIDKey = attribute.Key(attrkey.Stream)
	// LaunchTimeKey is the time at which the host launched the operation on the device, in Unix nanoseconds.
	LaunchTimeKey = attribute.Key(attrkey.Launch)
	// ClockErrorKey is the bound on how far the operation's times may be off, where they come from the clock of a device,
	// in nanoseconds. Entries have it among their attributes.
	ClockErrorKey = attribute.Key(attrkey.ClockError)
	// StepKey is the iteration of a training or generation loop.
	StepKey = attribute.Key(attrkey.Step)
	// PhaseKey is the part of a step that the operation belongs to, such as "prefill" or "backward". Known are prefill,
	// decode, mixed, forward, backward, optimizer, communication and data.
	PhaseKey = attribute.Key(attrkey.Phase)
)

// The attributes of a collective operation. Any of them makes an operation communication.
const (
	// CollectiveNameKey is the collective, such as "all_reduce".
	CollectiveNameKey = attribute.Key(attrkey.Collective)
	// CollectiveGroupNameKey is the name of the process group.
	CollectiveGroupNameKey = attribute.Key(attrkey.Group)
	// CollectiveGroupSizeKey is the number of ranks in the process group.
	CollectiveGroupSizeKey = attribute.Key(attrkey.GroupSize)
	// CollectiveSequenceKey is the number of the collective in its group. Together with the name of the group it
	// identifies one collective on all ranks.
	CollectiveSequenceKey = attribute.Key(attrkey.Sequence)
	// CollectivePeerRankKey is the rank at the other end of a send or receive.
	CollectivePeerRankKey = attribute.Key(attrkey.PeerRank)
	// CollectiveInElementsKey is the size of the message before the collective, in elements.
	CollectiveInElementsKey = attribute.Key(attrkey.InElements)
	// CollectiveOutElementsKey is the size of the message after the collective, in elements.
	CollectiveOutElementsKey = attribute.Key(attrkey.OutElements)
)

// The attribute of a span link.
const (
	// LinkWeightKey is the part of a span's work that is done for the span that it links to. It belongs on the link, and
	// is by the measure of the engine, such as tokens or rows. It is not negative.
	LinkWeightKey = attribute.Key(attrkey.LinkWeight)
	// LinkWeightAttentionKey is the part of a span's attention that is done for the span that it links to, where it
	// differs from that of its other work. It belongs on the link beside tensor.link.weight, and is the pairs of queries
	// and keys: each token counts the tokens up to it. It is not negative.
	LinkWeightAttentionKey = attribute.Key(attrkey.LinkAttention)
)

// The attributes of a process in a distributed job. They belong on the resource.
const (
	// RankKey is the rank of the process.
	RankKey = attribute.Key(attrkey.Rank)
	// WorldSizeKey is the number of ranks.
	WorldSizeKey = attribute.Key(attrkey.WorldSize)
)
