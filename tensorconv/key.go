package tensorconv

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
)

// The attributes of an operation.
const (
	// OpNameKey is the name of the operation, such as "matmul". Its presence makes a span an operation. It has few distinct
	// values.
	OpNameKey = attribute.Key(op.KeyName)
	// OpKindKey is the kind of the operation: compute, collective, memory, io or control.
	OpKindKey = attribute.Key(op.KeyKind)
	// OpPathKey is the layer or module that the operation belongs to.
	OpPathKey = attribute.Key(op.KeyPath)
	// OpFLOPCountKey is the number of floating-point operations.
	OpFLOPCountKey = attribute.Key(op.KeyFLOPs)
	// OpSideKey is "host" for the host's view of an operation whose work on the device is recorded separately.
	OpSideKey = attribute.Key(op.KeySide)

	// InputShapesKey is the shapes of the inputs, one slice of dimensions each.
	InputShapesKey = attribute.Key(op.KeyInputShapes)
	// InputDTypesKey is the element types of the inputs.
	InputDTypesKey = attribute.Key(op.KeyInputDTypes)
	// OutputShapeKey is the dimensions of the output.
	OutputShapeKey = attribute.Key(op.KeyOutputShape)
	// OutputElementsKey is the number of elements of the output, for operations that do not know its shape.
	OutputElementsKey = attribute.Key(op.KeyOutputElements)
	// DTypeKey is the element type of the output.
	DTypeKey = attribute.Key(op.KeyDType)
	// MemorySizeKey is the size of the output in bytes.
	MemorySizeKey = attribute.Key(op.KeyMemory)

	// DeviceIDKey is the device that runs the operation, such as "cuda:0" or "cpu".
	DeviceIDKey = attribute.Key(op.KeyDevice)
	// StreamIDKey is the queue of the device.
	StreamIDKey = attribute.Key(op.KeyStream)
	// LaunchTimeKey is when the host launched the operation on the device, in Unix nanoseconds.
	LaunchTimeKey = attribute.Key(op.KeyLaunch)
	// ClockErrorKey bounds how far the operation's times may be off where they come from the clock of a device, in nanoseconds.
	ClockErrorKey = attribute.Key(op.KeyClockError)
	// StepKey is the iteration of a training or generation loop.
	StepKey = attribute.Key(op.KeyStep)
)

// The attributes of a collective operation. Any of them makes an operation communication.
const (
	// CollectiveNameKey is the collective, such as "all_reduce".
	CollectiveNameKey = attribute.Key(op.KeyCollective)
	// CollectiveGroupNameKey is the name of the process group.
	CollectiveGroupNameKey = attribute.Key(op.KeyGroup)
	// CollectiveGroupSizeKey is the number of ranks in the process group.
	CollectiveGroupSizeKey = attribute.Key(op.KeyGroupSize)
	// CollectiveSequenceKey numbers the collectives of a group.
	CollectiveSequenceKey = attribute.Key(op.KeySequence)
	// CollectivePeerRankKey is the rank at the other end of a send or receive.
	CollectivePeerRankKey = attribute.Key(op.KeyPeerRank)
	// CollectiveInElementsKey is the size of the message before the collective, in elements.
	CollectiveInElementsKey = attribute.Key(op.KeyInElements)
	// CollectiveOutElementsKey is the size of the message after the collective, in elements.
	CollectiveOutElementsKey = attribute.Key(op.KeyOutElements)
)

// LinkWeightKey is the part of a span's work that is done for a span that it links to.
// It belongs on the link.
const LinkWeightKey = attribute.Key(op.KeyLinkWeight)

// The attributes of a process in a distributed job. They belong on the resource.
const (
	// RankKey is the rank of the process.
	RankKey = attribute.Key(op.KeyRank)
	// WorldSizeKey is the number of ranks.
	WorldSizeKey = attribute.Key(op.KeyWorldSize)
)
