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

// Join collects the records that a local batch and a tracing backend hold of the
// same traces, in any order. It keeps the columns of an [trace.Forest] for each
// operation and span.
//
// A Join is not safe for concurrent use.
type Join struct {
	local, service *trace.Forest
	// pruned has the summaries of operations that the backend was not sent, by
	// local root.
	pruned map[trace.SpanRef][]op.Pruned
}

// NewJoin returns an empty Join.
func NewJoin() *Join {
	service := trace.New()
	service.StartPart(math.MaxInt64) // behind all of the local batch
	return &Join{local: trace.New(), service: service, pruned: make(map[trace.SpanRef][]op.Pruned)}
}

// KeepAttrs makes j keep attributes of the spans that are added from now on, such as those of [PriceAttrs], and
// those by which engines tell of requests.
func (j *Join) KeepAttrs(keys ...string) {
	keys = slices.Concat(keys, engines.Keys())
	j.local.KeepAttrs(keys...)
	j.service.KeepAttrs(keys...)
}

// AddLocal adds a record of the local batch. It ignores records other than
// operations and spans, and keeps nothing of rec but strings.
func (j *Join) AddLocal(rec op.Record) { j.local.Add(rec) }

// TakeLocal adds the local batch as a whole. The forest must not be used any more.
func (j *Join) TakeLocal(forest *trace.Forest) {
	if j.local.Len() == 0 {
		j.local = forest
		return
	}
	j.local.Merge(forest)
}

// AddService adds a record of the tracing backend.
func (j *Join) AddService(rec op.Record) { j.service.Add(rec) }

// AddPruned adds a summary of operations that the tracing backend was not sent. The local batch may hold them; they are not counted twice.
func (j *Join) AddPruned(p op.Pruned) {
	root := trace.SpanRef{Trace: p.TraceID, Span: p.SpanID}
	j.pruned[root] = append(j.pruned[root], p)
}

// DescribeLocal fills in the counts of env that the structure of the local batch
// tells, such as suspect times; DescribeService does so for the tracing backend. Call
// them before Report.
func (j *Join) DescribeLocal(env *analyze.Envelope) { analyze.Describe(j.local, env) }

// DescribeService is described at [Join.DescribeLocal].
func (j *Join) DescribeService(env *analyze.Envelope) { analyze.Describe(j.service, env) }

// LocalRequests returns the requests that the local batch holds, so that the
// tracing backend can be asked for their traces. It is valid until something is
// added.
func (j *Join) LocalRequests() *requests.Requests { return requests.Find(j.local) }
