// Package attrkey has the attribute keys of docs/conventions.md. Package tensorconv exports the keys of operations.
package attrkey

import (
	"slices"
	"strconv"
	"strings"
)

// InputShape returns the key of the i-th input, for inputs with an attribute each.
func InputShape(i int) string { return "tensor.input." + strconv.Itoa(i) + ".shape" }

// Tenant is the default attribute of a request's tenant.
const Tenant = "tenant.id"

// OfRequests are the attributes for the price of a request. Recorders always keep them.
var OfRequests = [...]string{Tenant, RequestModel, RequestRoute, InputTokens, OutputTokens}

// Unnamed is the name of an operation that has none.
const Unnamed = "unknown"

// StepNumbers are the attributes with the number of a step on a span with a step's name. Megatron-LM writes the first
// two (docs/user-guide/observability/span-groups.md).
var StepNumbers = [...]string{"megatron.iteration", "iteration", "global_step", "step"}

// The attributes of a kernel's launch, in the words of PyTorch's profiler. Readers of other formats write the same.
const (
	Grid         = "grid"
	Block        = "block"
	Registers    = "registers per thread"
	SharedMemory = "shared memory" // bytes, static and dynamic
	Occupancy    = "est. achieved occupancy %"
	Graph        = "graph id" // of the launching CUDA graph
	GraphNode    = "graph node id"
	// GraphNodeName is the host's range around the capture or creation of the node.
	GraphNodeName = "graph node name"
)

// IsGraphLaunch reports whether a runtime call launches a graph, such as cudaGraphLaunch or hipGraphLaunch.
func IsGraphLaunch(call string) bool { return strings.Contains(call, "GraphLaunch") }

// IsLaunch reports whether a call of CUDA or HIP launches a kernel or a graph.
func IsLaunch(call string) bool {
	return strings.Contains(call, "Launch") && !strings.Contains(call, "HostFunc") &&
		(strings.HasPrefix(call, "cu") || strings.HasPrefix(call, "hip"))
}

// IsRuntime reports whether a call of the host is one of a device's runtime or driver, by its name.
func IsRuntime(call string) bool {
	for _, prefix := range [...]string{"cuda", "hip", "cu", "musa", "aclrt", "ze", "ur"} {
		if rest, ok := strings.CutPrefix(call, prefix); ok && rest != "" && 'A' <= rest[0] && rest[0] <= 'Z' {
			return true
		}
	}
	return false
}

// IsStreamWait reports whether a runtime call makes a stream wait for an event, such as cudaStreamWaitEvent.
func IsStreamWait(call string) bool { return strings.Contains(call, "StreamWaitEvent") }

// The parts of the names of calls that wait, the beginnings of copies, and the parts of copies that outlast their call.
var (
	waits   = [...]string{"Synchronize", "urEventWait", "urQueueFinish", "piEventsWait", "piQueueFinish"}
	copies  = [...]string{"cudaMemcpy", "hipMemcpy", "cuMemcpy", "musaMemcpy", "aclrtMemcpy"}
	lasting = [...]string{"Async", "Peer", "DtoD"}
)

// IsWait reports whether the host waits for a device in a runtime call, such as cudaStreamSynchronize or hipMemcpy.
func IsWait(call string) bool {
	within := func(part string) bool { return strings.Contains(call, part) }
	if slices.ContainsFunc(waits[:], within) {
		return true
	}
	begins := func(name string) bool { return strings.HasPrefix(call, name) }
	return slices.ContainsFunc(copies[:], begins) && !slices.ContainsFunc(lasting[:], within)
}

// IsRead reports whether an operation of the host reads a value of a device, or waits for it in another way.
func IsRead(operation string) bool {
	switch strings.TrimPrefix(operation, "aten::") {
	case "item", "_local_scalar_dense", "nonzero", "synchronize":
		return true
	}
	return IsWait(operation)
}

// IsAllocation reports whether a runtime call takes or gives back memory of a device, such as cudaMalloc or hipFree.
// Calls in the order of a stream, such as cudaMallocAsync, are no such calls.
func IsAllocation(call string) bool {
	if strings.Contains(call, "Async") || strings.Contains(call, "Host") {
		return false
	}
	return slices.ContainsFunc(allocations[:], func(name string) bool { return strings.HasPrefix(call, name) })
}

var allocations = [...]string{"cudaMalloc", "cudaFree", "hipMalloc", "hipFree", "cuMemAlloc", "cuMemFree"}

// IsFromHost reports whether an operation copies data from the host to a device, by its name.
func IsFromHost(operation string) bool { return strings.Contains(strings.ToLower(operation), "htod") }

// IsInput reports whether a range or an operation of the host reads the input of a step, by its name: a word such as
// DataLoader, next_batch or read_input. What loads a model or its weights reads no input.
func IsInput(name string) bool {
	plain := strings.ToLower(name)
	within := func(part string) bool { return strings.Contains(plain, part) }
	return slices.ContainsFunc(inputs[:], within) && !slices.ContainsFunc(otherLoads[:], within)
}

var (
	inputs = [...]string{
		"loader", "next_batch", "get_batch", "load_batch", "read_batch", "load_data", "fetch_batch", "read_input", "get_next",
		"iteratorgetnext", "input_pipeline", "prefetch_wait",
	}
	otherLoads = [...]string{"model", "weight", "checkpoint", "shader", "class", "kernel", "module"}
)

// Shown are attributes for display, without a figure of their own: a kernel's launch, and the operator of a gradient.
var Shown = [...]string{Grid, Block, Registers, SharedMemory, Occupancy, Graph, GraphNodeName, LaunchCall, ForwardName}

// The event on a local root with an op.Pruned: its name, and its attributes beside [Name] and [Device].
const (
	PrunedEvent    = "tensor.ops.pruned"
	PrunedCount    = "tensor.ops.pruned.count"
	PrunedDuration = "tensor.ops.pruned.duration"
)

// PrunedOthers is the name of all other operations of a summary.
const PrunedOthers = "(other)"

// The tags of Jaeger's JSON for parts of a span other than attributes, and the name of an unnamed service.
const (
	JaegerError        = "error"
	JaegerStatus       = "otel.status_code"
	JaegerDescription  = "otel.status_description"
	JaegerScope        = "otel.scope.name"
	JaegerOldScope     = "otel.library.name"
	JaegerVersion      = "otel.scope.version"
	JaegerKind         = "span.kind"
	JaegerTraceState   = "w3c.tracestate"
	JaegerDropped      = "otel.dropped_attributes_count"
	JaegerDroppedLinks = "otel.dropped_links_count"
	JaegerNoService    = "missing-service-name"
)
