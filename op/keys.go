package op

import "strconv"

// The attributes of an operation, as they are written. Names have no unit
// suffix; sizes are bytes, shapes are element counts per dimension.
const (
	// KeyName names the operation and makes a span one. The span's name is the
	// same and has few distinct values.
	KeyName = "tensor.op.name"
	// KeyKind is compute, collective, memory, io or control.
	KeyKind = "tensor.op.kind"
	// KeyPath is the layer or module path.
	KeyPath = "tensor.op.path"
	// KeyFLOPs is the number of floating-point operations.
	KeyFLOPs = "tensor.op.flop_count"
	// KeySide is "host" for the host's view of device work.
	KeySide = "tensor.op.side"
	// KeyInputShapes is a slice of int slices, a shape per input.
	KeyInputShapes = "tensor.input.shapes"
	// KeyInputDTypes is a string slice, an element type per input.
	KeyInputDTypes = "tensor.input.dtypes"
	// KeyOutputShape is an int slice.
	KeyOutputShape = "tensor.output.shape"
	// KeyOutputElements states the number of output elements where no shape does.
	KeyOutputElements = "tensor.output.elements"
	// KeyDType is the element type of the output.
	KeyDType = "tensor.dtype"
	// KeyDevice is the device, such as "cuda:0" or "cpu".
	KeyDevice = "tensor.device.id"
	// KeyStream is the device's queue.
	KeyStream = "tensor.stream.id"
	// KeyStep is the iteration.
	KeyStep = "tensor.step"
	// KeyMemory is the size in bytes.
	KeyMemory = "tensor.memory.size"
	// KeyCollective names the collective operation.
	KeyCollective = "tensor.collective.name"
	// KeyGroup and KeyGroupSize name and size the process group.
	KeyGroup     = "tensor.collective.group.name"
	KeyGroupSize = "tensor.collective.group.size"
	// KeySequence numbers the collectives of a group.
	KeySequence = "tensor.collective.sequence"
	// KeyPeerRank is the other side of a send or receive.
	KeyPeerRank = "tensor.collective.peer_rank"
	// KeyInElements and KeyOutElements are message sizes in elements.
	KeyInElements  = "tensor.collective.in_elements"
	KeyOutElements = "tensor.collective.out_elements"
	// KeyRank and KeyWorldSize stand on the resource.
	KeyRank      = "tensor.rank"
	KeyWorldSize = "tensor.world_size"

	// The keys below keep what an entry says and no attribute of the convention
	// has a place for, so that it survives being written as a span.

	// KeyLaunch is when the host launched the operation, in Unix nanoseconds.
	KeyLaunch = "optrace.launch_unix_ns"
	// KeyKindRule is how the kind was found, where it stands beside KeyKind.
	KeyKindRule = "optrace.kind.rule"
	// KeyRoot and KeyRootSpan name the local root span above the operation.
	KeyRoot     = "optrace.root.name"
	KeyRootSpan = "optrace.root.span_id"
	// KeyWarnings lists the entry's warnings, separated by commas.
	KeyWarnings = "optrace.warnings"

	// KeyServiceName is OpenTelemetry's attribute of the resource.
	KeyServiceName = "service.name"
)

// The shape of one input per attribute: tensor.input.0.shape.
const (
	inputShapePrefix = "tensor.input."
	inputShapeSuffix = ".shape"
)

// InputShapeKey returns the key of the i-th input where each input has an
// attribute of its own.
func InputShapeKey(i int) string { return inputShapePrefix + strconv.Itoa(i) + inputShapeSuffix }
