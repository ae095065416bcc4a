package correlate

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Join collects the records of the same traces from a local batch and a tracing backend, in any order. It keeps the
// columns of a [trace.Forest] for each operation and span.
//
// A Join is not safe for concurrent use.
type Join struct {
	local, service *trace.Forest
	pruned         map[trace.SpanRef][]op.Pruned // has the backend's summaries of operations, by local root
	// annotated has the backend's annotations of requests.
	annotated map[op.SpanID]struct{}
}

// NewJoin returns an empty Join.
func NewJoin() *Join {
	service := trace.New()
	service.StartPart(math.MaxInt64) // after the local batch
	return &Join{local: trace.New(), service: service, pruned: make(map[trace.SpanRef][]op.Pruned),
		annotated: make(map[op.SpanID]struct{})}
}

// KeepAttrs keeps attributes of spans added later, such as the result of [PriceAttrs], and of engines' requests.
func (j *Join) KeepAttrs(keys ...string) {
	keys = slices.Concat(keys, engines.Keys())
	j.local.KeepAttrs(keys...)
	j.service.KeepAttrs(keys...)
}

// AddLocal adds an operation or span of the local batch. It ignores other records, and keeps only strings of rec.
func (j *Join) AddLocal(rec op.Record) { j.local.Add(rec) }

// TakeLocal adds the local batch as a whole and takes ownership of forest.
func (j *Join) TakeLocal(forest *trace.Forest) {
	if j.local.Len() == 0 {
		j.local = forest
		return
	}
	j.local.Merge(forest)
}

// AddService adds a record of the tracing backend. Annotations of requests are no part of the report.
func (j *Join) AddService(rec op.Record) {
	if s := rec.Span; s != nil && s.SpanID == annotationID(s.TraceID, s.ParentSpanID) {
		j.annotated[s.SpanID] = struct{}{}
		return
	}
	j.service.Add(rec)
}

// AddPruned adds the backend's summary of operations. Operations also held by the local batch are not counted twice.
func (j *Join) AddPruned(p op.Pruned) {
	root := trace.SpanRef{Trace: p.TraceID, Span: p.SpanID}
	j.pruned[root] = append(j.pruned[root], p)
}

// DescribeLocal fills in the counts of env that need the local batch's structure. Call it before Report.
func (j *Join) DescribeLocal(env *analyze.Envelope) { analyze.Describe(j.local, env) }

// DescribeService does the same for the tracing backend.
func (j *Join) DescribeService(env *analyze.Envelope) { analyze.Describe(j.service, env) }

// LocalRequests returns the requests of the local batch. service is as in Options.RequestsOf. The result is valid until a
// record is added.
func (j *Join) LocalRequests(service string) *requests.Requests {
	if service != "" {
		j.local.EnterService(service)
	}
	return requests.Find(j.local)
}
