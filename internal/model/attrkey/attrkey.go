// Package attrkey has the keys of attributes, which docs/conventions.md describes. Users have those of operations in package
// tensorconv.
package attrkey

import (
	"strconv"
	"strings"
)

// InputShape returns the key of the i-th input where each input has an attribute of its own.
func InputShape(i int) string { return "tensor.input." + strconv.Itoa(i) + ".shape" }

// Tenant is the attribute of a request for whom it is worked, unless another is named.
const Tenant = "tenant.id"

// OfRequests are the attributes of requests by which they are priced. They are kept without being asked for.
var OfRequests = [...]string{Tenant, RequestModel, RequestRoute, InputTokens, OutputTokens}

// The attributes that say how a kernel was launched, in the words of PyTorch's profiler: readers of other formats write the same.
const (
	Grid         = "grid"
	Block        = "block"
	Registers    = "registers per thread"
	SharedMemory = "shared memory" // bytes, static and dynamic
	Occupancy    = "est. achieved occupancy %"
	Graph        = "graph id" // of the CUDA graph that launched it
	GraphNode    = "graph node id"
	// GraphNodeName is the range on the host in which the node was captured or made.
	GraphNodeName = "graph node name"
)

// IsGraphLaunch reports whether a call of a runtime launches a graph: cudaGraphLaunch, hipGraphLaunch and so on.
func IsGraphLaunch(call string) bool { return strings.HasSuffix(call, "GraphLaunch") }

// Shown are the attributes that say of an operation what people want to see, and no figure is made of: the launch of a kernel,
// and the operator whose gradient one computes.
var Shown = [...]string{Grid, Block, Registers, SharedMemory, Occupancy, Graph, GraphNodeName, LaunchCall, ForwardName}

// The event on a local root that carries an op.Pruned: its name, and the attributes in
// addition to [Name] and [Device].
const (
	PrunedEvent    = "tensor.ops.pruned"
	PrunedCount    = "tensor.ops.pruned.count"
	PrunedDuration = "tensor.ops.pruned.duration"
)

// PrunedOthers stands for the operations that a summary does not name.
const PrunedOthers = "(other)"

// The tags of Jaeger's JSON that stand for parts of a span that are no attributes of it, and the name of a resource without
// [ServiceName].
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
