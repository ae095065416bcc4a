// Code generated from docs/registry by contrib/conventions; DO NOT EDIT.

package attrkey

// The attributes of an operation.
const (
	// Name is the name of the operation, such as "matmul". Its presence makes a span an operation. It has few distinct
	// values, and is the name of the span too.
	Name = "tensor.op.name"
	// Kind is the kind of the operation: compute, collective, memory, io or control. Without it the kind is inferred from
	// the name.
	Kind = "tensor.op.kind"
	// Path is the layer or module that the operation belongs to.
	Path = "tensor.op.path"
	// FLOPs is the number of floating-point operations.
	FLOPs = "tensor.op.flop_count"
	// Side is the side of an operation that is there twice. It is "host" for the host's view of an operation whose work on
	// the device is recorded separately. Such an operation takes no part in the sums of the device.
	Side = "tensor.op.side"
)

// The attributes of the tensors of an operation.
const (
	// InputShapes is the shapes of the inputs, a list of dimensions each. A list of lists of integers, or of texts such as
	// 64x784 or [64,784], for SDKs that do not nest values and backends that do not show them. No dimensions are a scalar,
	// [] as a text; an empty value, ? as a text, is a shape that is not known; and a dimension of -1, in brackets where it
	// is a text, is not known.
	InputShapes = "tensor.input.shapes"
	// InputDTypes is the element types of the inputs.
	InputDTypes = "tensor.input.dtypes"
	// OutputShape is the dimensions of the output. No dimensions are a scalar, and a dimension of -1 is not known.
	OutputShape = "tensor.output.shape"
	// OutputElements is the number of elements of the output, for operations that do not know its shape.
	OutputElements = "tensor.output.elements"
	// DType is the element type of the output, such as f32, bf16 or i64. The types are f64, f32, bf16, f16, f8e4m3,
	// f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8, bool, c64 (8 bytes) and c128. Readers take the spellings of PyTorch
	// and NumPy as well.
	DType = "tensor.dtype"
	// Memory is the size of the output in bytes. Without it the size follows from the shape and element type of the
	// output.
	Memory = "tensor.memory.size"
)

// The attributes of where and when an operation ran.
const (
	// Device is the device that runs the operation, such as "cuda:0" or "cpu".
	Device = "tensor.device.id"
	// Stream is the queue of the device.
	Stream = "tensor.stream.id"
	// Launch is the time at which the host launched the operation on the device, in Unix nanoseconds.
	Launch = "tensor.launch.time"
	// LaunchDuration is the duration of the host's call that launched the operation at tensor.launch.time, in nanoseconds.
	LaunchDuration = "tensor.launch.duration"
	// LaunchCall is the name of the host's call that launched the operation, such as "cudaLaunchKernel".
	LaunchCall = "tensor.launch.call"
	// ClockError is the bound on how far the operation's times may be off, where they come from the clock of a device, in
	// nanoseconds. Entries have it among their attributes.
	ClockError = "tensor.clock.error"
	// Step is the iteration of a training or generation loop.
	Step = "tensor.step"
	// Phase is the part of a step that the operation belongs to, such as "prefill" or "backward". Known are prefill,
	// decode, mixed, forward, backward, optimizer, communication and data.
	Phase = "tensor.phase"
)

// The attributes of an operator of PyTorch that say which operator a gradient belongs to.
const (
	// AutogradSequence is the number that autograd gave the operator. A backward operator has that of the forward operator
	// whose gradient it computes.
	AutogradSequence = "tensor.autograd.sequence"
	// ForwardThread is the thread on which the forward operator of a backward one ran, as PyTorch numbers threads.
	ForwardThread = "tensor.autograd.forward.thread"
	// ForwardName is the name of the forward operator whose gradient a backward one computes.
	ForwardName = "tensor.autograd.forward.name"
)

// The attributes of a collective operation. Any of them makes an operation communication.
const (
	// Collective is the collective, such as "all_reduce".
	Collective = "tensor.collective.name"
	// Group is the name of the process group.
	Group = "tensor.collective.group.name"
	// GroupSize is the number of ranks in the process group.
	GroupSize = "tensor.collective.group.size"
	// Sequence is the number of the collective in its group. Together with the name of the group it identifies one
	// collective on all ranks.
	Sequence = "tensor.collective.sequence"
	// PeerRank is the rank at the other end of a send or receive.
	PeerRank = "tensor.collective.peer_rank"
	// InElements is the size of the message before the collective, in elements.
	InElements = "tensor.collective.in_elements"
	// OutElements is the size of the message after the collective, in elements.
	OutElements = "tensor.collective.out_elements"
)

// The attribute of a span link.
const (
	// LinkWeight is the part of a span's work that is done for the span that it links to. It belongs on the link, and is
	// by the measure of the engine, such as tokens or rows. It is not negative.
	LinkWeight = "tensor.link.weight"
	// LinkAttention is the part of a span's attention that is done for the span that it links to, where it differs from
	// that of its other work. It belongs on the link beside tensor.link.weight, and is the pairs of queries and keys: each
	// token counts the tokens up to it. It is not negative.
	LinkAttention = "tensor.link.weight.attention"
)

// The attributes of a process in a distributed job. They belong on the resource.
const (
	// Rank is the rank of the process.
	Rank = "tensor.rank"
	// WorldSize is the number of ranks.
	WorldSize = "tensor.world_size"
)

// The attributes of OpenTelemetry's own conventions that optrace knows.
const (
	// ServiceName is the service, on the resource. Devices of one name in different services are different devices.
	ServiceName = "service.name"
	// HostName is the host, on the resource. Devices of one name on different hosts of a service are different devices.
	HostName = "host.name"
	// HardwareID is the identity of the device, on the operation or on the resource. On an operation without
	// tensor.device.id it is the device. It is a key to group by.
	HardwareID = "hw.id"
	// HardwareType is the type of the device, such as "gpu", on the operation or on the resource. It is a key to group by.
	HardwareType = "hw.type"
	// HardwareModel is the model of the device, on the operation or on the resource. It is a key to group by.
	HardwareModel = "hw.model"
	// GPUIndex is the number of the GPU, on the operation or on the resource. It is a key to group by.
	GPUIndex = "gpu.index"
	// RequestModel is the model that was asked for, on the operation, on the span of the request or on the resource. It is
	// a key to group by.
	RequestModel = "gen_ai.request.model"
	// RequestRoute is the route of a request, on the span of the request. Prices are summed up by it.
	RequestRoute = "http.route"
	// InputTokens is the tokens that a request read, on the span of the request. Prices are by thousands of them and of
	// those it wrote.
	InputTokens = "gen_ai.usage.input_tokens"
	// OutputTokens is the tokens that a request wrote, on the span of the request.
	OutputTokens = "gen_ai.usage.output_tokens"
)

// The attributes for the fields of an entry that the conventions have no attribute for.
const (
	// KindRule is the rule by which the kind was found, where it stands beside the kind.
	KindRule = "optrace.kind.rule"
	// Root is the name of the local root span above the operation.
	Root = "optrace.root.name"
	// RootSpan is the id of the local root span above the operation.
	RootSpan = "optrace.root.span_id"
	// LaunchedBy is the name of the operator on the host that launched the operation.
	LaunchedBy = "optrace.launch.name"
	// LaunchSpan is the span id of the operator on the host that launched the operation, in the same trace.
	LaunchSpan = "optrace.launch.span_id"
	// StepName is the name of the range on the host that is the step of the operation.
	StepName = "optrace.step.name"
	// Warnings is the warnings of the entry, separated by commas.
	Warnings = "optrace.warnings"
)
