// Code generated from docs/registry by tensorconv/generate.go; DO NOT EDIT.

package attrkey

// The attributes of an operation.
const (
	Name  = "tensor.op.name"
	Kind  = "tensor.op.kind"
	Path  = "tensor.op.path"
	FLOPs = "tensor.op.flop_count"
	Side  = "tensor.op.side"
)

// The attributes of the tensors of an operation.
const (
	InputShapes    = "tensor.input.shapes"
	InputDTypes    = "tensor.input.dtypes"
	OutputShape    = "tensor.output.shape"
	OutputElements = "tensor.output.elements"
	DType          = "tensor.dtype"
	Memory         = "tensor.memory.size"
)

// The attributes of where and when an operation ran.
const (
	Device         = "tensor.device.id"
	Power          = "tensor.device.power"
	Stream         = "tensor.stream.id"
	Launch         = "tensor.launch.time"
	LaunchDuration = "tensor.launch.duration"
	LaunchCall     = "tensor.launch.call"
	LaunchShare    = "tensor.launch.share"
	ClockError     = "tensor.clock.error"
	Step           = "tensor.step"
	Phase          = "tensor.phase"
)

// The attributes of an operator of PyTorch that say which operator a gradient belongs to.
const (
	AutogradSequence = "tensor.autograd.sequence"
	ForwardThread    = "tensor.autograd.forward.thread"
	ForwardName      = "tensor.autograd.forward.name"
)

// The attributes of a call of the host that waits for an event of a device, or makes a stream wait for one.
const (
	WaitStream   = "tensor.wait.stream"
	WaitRecorded = "tensor.wait.recorded"
)

// The attributes of a collective operation. Any of them makes an operation communication.
const (
	Collective  = "tensor.collective.name"
	Group       = "tensor.collective.group.name"
	GroupSize   = "tensor.collective.group.size"
	Sequence    = "tensor.collective.sequence"
	PeerRank    = "tensor.collective.peer_rank"
	InElements  = "tensor.collective.in_elements"
	OutElements = "tensor.collective.out_elements"
)

// The attribute of a span link.
const (
	LinkWeight    = "tensor.link.weight"
	LinkAttention = "tensor.link.weight.attention"
)

// The attributes of a process in a distributed job. They belong on the resource.
const (
	Rank      = "tensor.rank"
	WorldSize = "tensor.world_size"
)

// The attributes of OpenTelemetry's own conventions that optrace knows.
const (
	ServiceName   = "service.name"
	HostName      = "host.name"
	Thread        = "thread.id"
	HardwareID    = "hw.id"
	HardwareType  = "hw.type"
	HardwareModel = "hw.model"
	GPUIndex      = "gpu.index"
	RequestModel  = "gen_ai.request.model"
	RequestRoute  = "http.route"
	InputTokens   = "gen_ai.usage.input_tokens"
	OutputTokens  = "gen_ai.usage.output_tokens"
)

// The attributes for the fields of an entry that the conventions have no attribute for.
const (
	KindRule          = "optrace.kind.rule"
	Root              = "optrace.root.name"
	RootSpan          = "optrace.root.span_id"
	LaunchedBy        = "optrace.launch.name"
	LaunchSpan        = "optrace.launch.span_id"
	StepName          = "optrace.step.name"
	Warnings          = "optrace.warnings"
	Unknown           = "optrace.unknown"
	Sampler           = "optrace.sampler"
	RequestOperations = "optrace.request.operations"
	RequestBlame      = "optrace.request.blame"
	RequestPrice      = "optrace.request.price"
	RequestPage       = "optrace.request.page"
)
