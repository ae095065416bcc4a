package correlate

import (
	"github.com/optrace/optrace/analyze"
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
	// Jaeger is the address of the tracing backend's pages; Input describes the local batch, Service the answers of
	// Jaeger. Each is nil without it.
	Jaeger  Link              `json:"jaeger"`
	Input   *analyze.Envelope `json:"input"`
	Service *Service          `json:"service_traces"`
	// Findings say what the requests waited for, the most important first, if Options.Findings asks for
	// them: those of a report on everything that was read, what was left out included.
	Findings []findings.Finding `json:"findings"`
	// Requests has the requests by start, those without a start last.
	Requests []Request `json:"requests"`
	// Shared has the executions that work for several requests, such as the steps of a
	// batching engine, in the order of the input. They are no requests.
	Shared []Shared `json:"shared"`
	// MissingLinks counts links to spans that are on neither side.
	MissingLinks int64 `json:"missing_links"`
	// Endpoints sums them up by name and service, the largest duration first.
	Endpoints []Endpoint `json:"endpoints"`
	// Price says what the time of devices cost; nil without prices.
	Price *Price `json:"price,omitempty"`
	// Unattached lists operations that belong to no request, the first of
	// UnattachedOps.
	Unattached    []Op  `json:"unattached"`
	UnattachedOps int64 `json:"unattached_ops"`
	// MissingInJaeger is how many operations of the requests the local batch
	// holds and Jaeger, if it was asked, does not, those aside that it was not sent on purpose: they are PrunedOps.
	MissingInJaeger int64 `json:"missing_in_jaeger"`
	// MissingLocally is how many spans of the requests' traces Jaeger holds and the local batch, if there is one, does
	// not; MissingOpsLocally is the operations among them, pruned ones included.
	MissingLocally    int64 `json:"missing_locally"`
	MissingOpsLocally int64 `json:"missing_ops_locally"`
	// PrunedOps is how many operations Jaeger holds in summaries only.
	PrunedOps int64 `json:"pruned_ops"`
	// LeftOut counts the requests and operations that Options.Keep left out.
	LeftOut LeftOut `json:"left_out"`
}

// Service describes the questions to the tracing backend and its answers.
type Service struct {
	// API names the version that the backend answered on.
	API string `json:"api"`
	// Traces is how many it returned, and AtLimit reports whether there may be more.
	Traces  int64 `json:"traces"`
	AtLimit bool  `json:"at_limit"`
	// NotThere is how many traces of the local batch it did not know, NotAsked
	// how many were left out because of the limit.
	NotThere int64 `json:"not_there"`
	NotAsked int64 `json:"not_asked"`
	// Envelope counts the records of the traces, and those that could not be read.
	analyze.Envelope
}

// LeftOut counts requests that the report is not about.
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
	// StartNS and DurationNS are unknown where the request's own span is on neither side.
	StartNS    op.Int `json:"start_unix_ns"`
	DurationNS op.Int `json:"duration_ns"`
	// Ops is how many operations belong to the request, those included that are
	// known from a summary only.
	Ops int64 `json:"ops"`
	// OwnNS is the sum of the durations of the operations below the request, SharedNS
	// its part of those of shared executions, and SharedOps the number of the latter's
	// operations.
	OwnNS     int64 `json:"own_ns"`
	SharedNS  int64 `json:"shared_ns"`
	SharedOps int64 `json:"shared_ops"`
	// UncoveredNS is the time in which none of the operations ran, nor any of a shared execution, QueueingNS that before the
	// first one began. Operations known from a summary only cover nothing.
	UncoveredNS op.Int `json:"uncovered_ns"`
	QueueingNS  op.Int `json:"queueing_ns"`
	// CriticalPath has the time on the critical path by operation, kind and
	// device, the largest first. It adds up to Duration.
	CriticalPath []PathPart `json:"critical_path"`
	// Failed reports whether the request's own span ended with an error, and Error is the text of that. Errors has the
	// errors of its operations, without those of shared executions.
	Failed bool            `json:"failed"`
	Error  string          `json:"error,omitempty"`
	Errors []profile.Error `json:"errors"`
	// Pruned are the operations of the request that Jaeger holds in a summary.
	Pruned PrunedSum `json:"pruned"`
	// InJaeger and InLocal report which sides hold the request's own span.
	InJaeger bool `json:"in_jaeger"`
	InLocal  bool `json:"in_local"`
	// MissingInJaeger and MissingOpsLocally are those of the report for this
	// request.
	MissingInJaeger   int64 `json:"missing_in_jaeger"`
	MissingOpsLocally int64 `json:"missing_ops_locally"`
	// Engines are the requests to inference engines in it, as these tell of them.
	Engines []engines.Request `json:"engines,omitempty"`
	// Charge is what its time of devices cost; nil without prices.
	Charge *Charge `json:"charge,omitempty"`
	// Slow reports whether the request is among the slow ones of its endpoint.
	Slow bool `json:"slow"`
	// Link leads to the request in Jaeger, CompareLink from a slow request to its
	// comparison with a typical one; nil where there is none.
	Link        Link `json:"link"`
	CompareLink Link `json:"compare_link"`
}

// Shared is an execution that works for several requests.
type Shared struct {
	Name       string     `json:"name"`
	Service    string     `json:"service"`
	TraceID    op.TraceID `json:"trace_id"`
	SpanID     op.SpanID  `json:"span_id"`
	StartNS    op.Int     `json:"start_unix_ns"`
	DurationNS int64      `json:"duration_ns"`
	// Links is how many links it has, Requests to how many requests they lead.
	Links    int64 `json:"links"`
	Requests int64 `json:"requests"`
	// DroppedLinks is how many further links the limits of the recorder dropped, UnlinkedNS the part of
	// SumNS that belongs to requests which they lead to.
	DroppedLinks int64 `json:"dropped_links,omitzero"`
	UnlinkedNS   int64 `json:"unlinked_ns,omitzero"`
	// Ops is the number of its operations, SumNS the sum of their durations, which the
	// requests share.
	Ops   int64 `json:"ops"`
	SumNS int64 `json:"sum_ns"`
	// Errors has the errors of its operations.
	Errors []profile.Error `json:"errors"`
	// DividedBy says by which laws: attention by the weights for it, the rest by weights or in equal parts.
	DividedBy []requests.Division `json:"divided_by"`
	// Link leads to the execution in Jaeger; nil where there is none.
	Link Link `json:"link"`
}

// PathPart is the part of a critical path that lies in one operation, or in a
// span that is no operation.
type PathPart struct {
	// Operation is the name of the operation or span.
	Operation string `json:"operation"`
	// Kind is the kind of the operation, or [path.KindHost] for other spans and
	// for operations seen from the host.
	Kind string `json:"kind"`
	// Key is the zero Key outside operations.
	device.Key
	// Segments is how many times the path came by.
	TimeNS   int64 `json:"ns"`
	Segments int64 `json:"segments"`
	// SpanID is the span in which the path was longest, and Link leads there.
	SpanID op.SpanID `json:"span_id"`
	Link   Link      `json:"link"`
}

// PrunedSum sums up operations that are known from summaries.
type PrunedSum struct {
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// NotHeld is how many of them are not in the local batch either.
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
	// Input and Service become those of the Report.
	Input   *analyze.Envelope
	Service *Service
	// Findings asks for the findings.
	Findings bool
	// Jaeger is the address of Jaeger's pages for the links; "" gives none.
	Jaeger string
	// Keep decides which requests the report is about; nil keeps all.
	Keep func(*requests.Request) bool
	// KeepTrace decides the same for operations that belong to no request.
	KeepTrace func(op.TraceID) bool
	// Price has the prices of devices; nil for none. The attributes of [PriceAttrs] tell tenants, models, routes and tokens.
	Price *price.Table
}

// maxUnattached bounds the list of operations that belong to no request.
const maxUnattached = 1000

// maxErrors bounds the errors that are told apart in a request.
const maxErrors = 100
