// Code generated from docs/registry by contrib/conventions; DO NOT EDIT.

package op

// The attributes of an operation.
const (
	// KeyName is the name of the operation, such as "matmul". Its presence makes a span an operation. It has few distinct
	// values, and is the name of the span too.
	KeyName = "tensor.op.name"
	// KeyKind is the kind of the operation: compute, collective, memory, io or control. Without it the kind is inferred
	// from the name.
	KeyKind = "tensor.op.kind"
	// KeyPath is the layer or module that the operation belongs to.
	KeyPath = "tensor.op.path"
	// KeyFLOPs is the number of floating-point operations.
	KeyFLOPs = "tensor.op.flop_count"
	// KeySide is the side of an operation that is there twice. It is "host" for the host's view of an operation whose work
	// on the device is recorded separately. Such an operation takes no part in the sums of the device.
	KeySide = "tensor.op.side"
)

// The attributes of the tensors of an operation.
const (
	// KeyInputShapes is the shapes of the inputs, a list of dimensions each. A list of lists of integers, or of texts such
	// as 64x784 or [64,784], for SDKs that do not nest values and backends that do not show them. No dimensions are a
	// scalar, [] as a text; an empty value, ? as a text, is a shape that is not known; and a dimension of -1, in brackets
	// where it is a text, is not known.
	KeyInputShapes = "tensor.input.shapes"
	// KeyInputDTypes is the element types of the inputs.
	KeyInputDTypes = "tensor.input.dtypes"
	// KeyOutputShape is the dimensions of the output. No dimensions are a scalar, and a dimension of -1 is not known.
	KeyOutputShape = "tensor.output.shape"
	// KeyOutputElements is the number of elements of the output, for operations that do not know its shape.
	KeyOutputElements = "tensor.output.elements"
	// KeyDType is the element type of the output, such as f32, bf16 or i64. The types are f64, f32, bf16, f16, f8e4m3,
	// f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8, bool, c64 (8 bytes) and c128. Readers take the spellings of PyTorch
	// and NumPy as well.
	KeyDType = "tensor.dtype"
	// KeyMemory is the size of the output in bytes. Without it the size follows from the shape and element type of the
	// output.
	KeyMemory = "tensor.memory.size"
)

// The attributes of where and when an operation ran.
const (
	// KeyDevice is the device that runs the operation, such as "cuda:0" or "cpu".
	KeyDevice = "tensor.device.id"
	// KeyStream is the queue of the device.
	KeyStream = "tensor.stream.id"
	// KeyLaunch is the time at which the host launched the operation on the device, in Unix nanoseconds.
	KeyLaunch = "tensor.launch.time"
	// KeyClockError is the bound on how far the operation's times may be off, where they come from the clock of a device,
	// in nanoseconds. Entries have it among their attributes.
	KeyClockError = "tensor.clock.error"
	// KeyStep is the iteration of a training or generation loop.
	KeyStep = "tensor.step"
)

// The attributes of a collective operation. Any of them makes an operation communication.
const (
	// KeyCollective is the collective, such as "all_reduce".
	KeyCollective = "tensor.collective.name"
	// KeyGroup is the name of the process group.
	KeyGroup = "tensor.collective.group.name"
	// KeyGroupSize is the number of ranks in the process group.
	KeyGroupSize = "tensor.collective.group.size"
	// KeySequence is the number of the collective in its group. Together with the name of the group it identifies one
	// collective on all ranks.
	KeySequence = "tensor.collective.sequence"
	// KeyPeerRank is the rank at the other end of a send or receive.
	KeyPeerRank = "tensor.collective.peer_rank"
	// KeyInElements is the size of the message before the collective, in elements.
	KeyInElements = "tensor.collective.in_elements"
	// KeyOutElements is the size of the message after the collective, in elements.
	KeyOutElements = "tensor.collective.out_elements"
)

// The attribute of a span link.
const (
	// KeyLinkWeight is the part of a span's work that is done for the span that it links to. It belongs on the link, and
	// is by the measure of the engine, such as tokens or rows. It is not negative.
	KeyLinkWeight = "tensor.link.weight"
)

// The attributes of a process in a distributed job. They belong on the resource.
const (
	// KeyRank is the rank of the process.
	KeyRank = "tensor.rank"
	// KeyWorldSize is the number of ranks.
	KeyWorldSize = "tensor.world_size"
)

// The attributes of OpenTelemetry's own conventions that optrace knows.
const (
	// KeyServiceName is the service, on the resource. Devices of one name in different services are different devices.
	KeyServiceName = "service.name"
	// KeyHostName is the host, on the resource. Devices of one name on different hosts of a service are different devices.
	KeyHostName = "host.name"
	// KeyHardwareID is the identity of the device, on the operation or on the resource. On an operation without
	// tensor.device.id it is the device. It is a key to group by.
	KeyHardwareID = "hw.id"
	// KeyHardwareType is the type of the device, such as "gpu", on the operation or on the resource. It is a key to group
	// by.
	KeyHardwareType = "hw.type"
	// KeyHardwareModel is the model of the device, on the operation or on the resource. It is a key to group by.
	KeyHardwareModel = "hw.model"
	// KeyGPUIndex is the number of the GPU, on the operation or on the resource. It is a key to group by.
	KeyGPUIndex = "gpu.index"
	// KeyRequestModel is the model that was asked for, on the operation or on the resource. It is a key to group by.
	KeyRequestModel = "gen_ai.request.model"
)

// The attributes for the fields of an entry that the conventions have no attribute for.
const (
	// KeyKindRule is the rule by which the kind was found, where it stands beside the kind.
	KeyKindRule = "optrace.kind.rule"
	// KeyRoot is the name of the local root span above the operation.
	KeyRoot = "optrace.root.name"
	// KeyRootSpan is the id of the local root span above the operation.
	KeyRootSpan = "optrace.root.span_id"
	// KeyWarnings is the warnings of the entry, separated by commas.
	KeyWarnings = "optrace.warnings"
)
