package correlate

import (
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/blame"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/price"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/op"
)

// Schema names the JSON form of a [Report] and its major version.
const Schema = "optrace.correlate/v1"

// Report divides the time of requests. Its lists are never nil.
type Report struct {
	Schema string `json:"schema"`
	// Jaeger is the address of the tracing backend's pages, Input describes the local batch, Service the backend's
	// answers. Each is nil if absent.
	Jaeger  Link              `json:"jaeger"`
	Input   *analyze.Envelope `json:"input"`
	Service *Service          `json:"service_traces"`
	// Findings on the whole input say what requests waited for, if Options.Findings is set.
	Findings []findings.Finding `json:"findings"`
	// Requests has the requests by start, requests without a start last.
	Requests []Request `json:"requests"`
	// Shared has the executions that work for several requests, such as steps of a batching engine, in input order.
	Shared []Shared `json:"shared"`
	// Composed says how many steps without links state their batches by counts, nil without any. Told steps are as
	// if linked to their requests.
	Composed *engines.Composition `json:"composed,omitempty"`
	// MissingLinks counts links to spans found on neither side.
	MissingLinks int64 `json:"missing_links"`
	// Endpoints sums up the requests by name and service, the largest duration first.
	Endpoints []Endpoint `json:"endpoints"`
	// Blame says who delayed the slowest requests, the slowest first. Culprits sums up the delays of all requests by
	// culprit, the largest sum first.
	Blame    []blame.Blame   `json:"blame"`
	Culprits []blame.Culprit `json:"culprits"`
	// Price is the cost of the devices' time, nil without prices.
	Price *Price `json:"price,omitempty"`
	// Unattached lists the first of UnattachedOps operations without a request.
	Unattached    []Op  `json:"unattached"`
	UnattachedOps int64 `json:"unattached_ops"`
	// MissingInJaeger counts operations held by the local batch only, without PrunedOps, if Jaeger was asked.
	MissingInJaeger int64 `json:"missing_in_jaeger"`
	// MissingLocally counts spans of the requests' traces held by Jaeger and missing in the local batch, if there is
	// one. MissingOpsLocally counts the operations among them, pruned ones included.
	MissingLocally    int64 `json:"missing_locally"`
	MissingOpsLocally int64 `json:"missing_ops_locally"`
	// PrunedOps counts operations held by Jaeger only as summaries.
	PrunedOps int64 `json:"pruned_ops"`
	// LeftOut counts the requests and operations excluded by Options.Keep.
	LeftOut LeftOut `json:"left_out"`
}

// Service describes the questions to the tracing backend and its answers.
type Service struct {
	// API is the version of the backend's API.
	API string `json:"api"`
	// Traces is the number of returned traces. AtLimit reports whether there may be more.
	Traces  int64 `json:"traces"`
	AtLimit bool  `json:"at_limit"`
	// NotThere counts the local batch's traces unknown to the backend, NotAsked traces beyond the limit.
	NotThere int64 `json:"not_there"`
	NotAsked int64 `json:"not_asked"`
	// Envelope counts the records of the traces, and the unreadable ones.
	analyze.Envelope
}

// LeftOut counts requests and operations outside the report.
type LeftOut struct {
	Requests int64 `json:"requests"`
	Ops      int64 `json:"ops"`
}

// Request is a request with the parts of its time.
type Request struct {
	TraceID    op.TraceID `json:"trace_id"`
	Root       string     `json:"root"`
	RootSpanID op.SpanID  `json:"root_span_id"`
	Service    string     `json:"service"`
	// StartNS and DurationNS are unknown if neither side holds the request's span.
	StartNS    op.Int `json:"start_unix_ns"`
	DurationNS op.Int `json:"duration_ns"`
	// Ops is the number of the request's operations, summarised ones included.
	Ops int64 `json:"ops"`
	// OwnNS is the sum of the durations of the operations below the request, SharedNS its part of the durations of
	// shared executions, and SharedOps the number of their operations.
	OwnNS     int64 `json:"own_ns"`
	SharedNS  int64 `json:"shared_ns"`
	SharedOps int64 `json:"shared_ops"`
	// UncoveredNS is the time without any operation of the request or of a shared execution, QueueingNS the part before
	// the first operation. Summarised operations cover no time.
	UncoveredNS op.Int `json:"uncovered_ns"`
	QueueingNS  op.Int `json:"queueing_ns"`
	// QueuedNS is the part of it in a recorded queue.
	QueuedNS int64 `json:"queued_ns"`
	// CriticalPath divides DurationNS by operation, kind and device on the critical path, the largest part first.
	CriticalPath []PathPart `json:"critical_path"`
	// Failed and Error describe the error of the request's span, Errors the errors of its own operations.
	Failed bool            `json:"failed"`
	Error  string          `json:"error,omitempty"`
	Errors []profile.Error `json:"errors"`
	// Pruned counts the request's operations held by Jaeger as summaries.
	Pruned PrunedSum `json:"pruned"`
	// InJaeger and InLocal report which sides hold the request's span.
	InJaeger bool `json:"in_jaeger"`
	InLocal  bool `json:"in_local"`
	// MissingInJaeger and MissingOpsLocally are the report's counts for this request.
	MissingInJaeger   int64 `json:"missing_in_jaeger"`
	MissingOpsLocally int64 `json:"missing_ops_locally"`
	// Engines are the requests to inference engines, as the engines report them.
	Engines []engines.Request `json:"engines,omitempty"`
	// Charge is the cost of its time on devices, nil without prices.
	Charge *Charge `json:"charge,omitempty"`
	// Annotated reports whether the backend holds an annotation, see [Report.Annotations].
	Annotated bool `json:"annotated,omitzero"`
	// Slow reports whether the request is among the slow ones of its endpoint.
	Slow bool `json:"slow"`
	// Link leads to the request in Jaeger, CompareLink from a slow request to a comparison. Both may be nil.
	Link        Link `json:"link"`
	CompareLink Link `json:"compare_link"`
}

// Shared is an execution for several requests.
type Shared struct {
	Name       string     `json:"name"`
	Service    string     `json:"service"`
	TraceID    op.TraceID `json:"trace_id"`
	SpanID     op.SpanID  `json:"span_id"`
	StartNS    op.Int     `json:"start_unix_ns"`
	DurationNS int64      `json:"duration_ns"`
	// Links is the number of links, Requests the number of linked requests.
	Links    int64 `json:"links"`
	Requests int64 `json:"requests"`
	// DroppedLinks is the number of links dropped by limits of the recorder, UnlinkedNS their part of SumNS.
	DroppedLinks int64 `json:"dropped_links,omitzero"`
	UnlinkedNS   int64 `json:"unlinked_ns,omitzero"`
	// Ops is the number of operations, SumNS the sum of their durations, divided among the requests.
	Ops   int64 `json:"ops"`
	SumNS int64 `json:"sum_ns"`
	// Errors has the errors of its operations.
	Errors []profile.Error `json:"errors"`
	// DividedBy lists the applied laws: attention by its own weights, the rest by weights or equally.
	DividedBy []requests.Division `json:"divided_by"`
	// Link leads to the execution in Jaeger. It may be nil.
	Link Link `json:"link"`
}

// PathPart is the part of a critical path in one operation, or in a span that is no operation.
type PathPart struct {
	// Operation is the name of the operation or span.
	Operation string `json:"operation"`
	// Kind is the kind of the operation, or [path.KindHost] for other spans and host-side operations.
	Kind string `json:"kind"`
	// Key is the zero Key outside operations.
	device.Key
	// TimeNS is the time of the part, Segments the number of its segments of the path.
	TimeNS   int64 `json:"ns"`
	Segments int64 `json:"segments"`
	// SpanID is the span of the longest segment, Link leads to it, and StartNS is the segment's start.
	SpanID  op.SpanID `json:"span_id"`
	StartNS op.Int    `json:"start_unix_ns"`
	Link    Link      `json:"link"`
}

// PrunedSum sums up operations known from summaries.
type PrunedSum struct {
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// NotHeld counts operations missing in the local batch too.
	NotHeld int64 `json:"not_held"`
}

// Op is one operation.
type Op struct {
	Operation string `json:"operation"`
	Kind      string `json:"kind"`
	device.Key
	TraceID    op.TraceID `json:"trace_id"`
	SpanID     op.SpanID  `json:"span_id"`
	StartNS    op.Int     `json:"start_unix_ns"`
	DurationNS int64      `json:"duration_ns"`
	Link       Link       `json:"link"`
}

// Options configures a report.
type Options struct {
	// Input and Service are copied into the Report.
	Input   *analyze.Envelope
	Service *Service
	// Findings asks for the findings.
	Findings bool
	// Jaeger is the address of Jaeger's pages for links, "" for no links.
	Jaeger string
	// RequestsOf names a service whose requests start below spans of other services, "" for none.
	RequestsOf string
	// Keep selects the requests of the report, nil keeps all.
	Keep func(*requests.Request) bool
	// KeepTrace selects the operations without a request, nil keeps all.
	KeepTrace func(op.TraceID) bool
	// Price has the prices of devices, nil for none. It needs the attributes of [PriceAttrs].
	Price *price.Table
}

const maxUnattached = 1000

const maxErrors = 100
