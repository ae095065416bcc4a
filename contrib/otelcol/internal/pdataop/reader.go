package pdataop

import (
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Reader turns spans into entries. It is used by one goroutine at a time; its
// results are valid until its next call.
type Reader struct {
	mapping  *attr.Mapping
	builder  *attrmap.Builder
	resource *op.Resource
	scope    op.Scope
	span     op.Span
	json     []byte
}

// NewReader returns a Reader that reads attributes as m says; nil stands for the
// conventions.
func NewReader(m *attr.Mapping) *Reader {
	return &Reader{mapping: m, builder: attrmap.NewBuilder(m)}
}

// SetResource makes r the resource of the spans that follow, which must not change
// meanwhile.
func (r *Reader) SetResource(res *op.Resource) { r.resource = res }

// SetScope makes s the scope of the spans that follow.
func (r *Reader) SetScope(s pcommon.InstrumentationScope) {
	r.scope = op.Scope{Name: valid(s.Name()), Version: valid(s.Version())}
	for key, v := range s.Attributes().All() {
		r.scope.Attrs = append(r.scope.Attrs, attrOf(key, v))
	}
}

// Resource returns a resource as headers of files describe it.
func Resource(res pcommon.Resource) *op.Resource {
	out := &op.Resource{}
	var index opmodel.AttrIndex
	for key, v := range res.Attributes().All() {
		opmodel.SetResourceAttr(out, &index, attrOf(key, v))
	}
	return out
}

// Entry returns the entry of an operation, or false for any other span.
func (r *Reader) Entry(s ptrace.Span) (*op.Entry, bool) {
	b := r.builder
	b.Reset()
	for key, v := range s.Attributes().All() {
		r.value(b.Target(key), v)
	}
	b.SetIDs(op.TraceID(s.TraceID()), op.SpanID(s.SpanID()), op.SpanID(s.ParentSpanID()))
	start, duration, ok := times(s)
	if start.Known || !ok || duration == 0 {
		b.SetTime(start, duration)
	} else {
		b.SetDuration(duration)
	}
	if !ok {
		b.Warn(op.WarnBadTime)
	}
	if b.NeedsName() {
		b.SetName(s.Name())
	}
	if s.Status().Code() == ptrace.StatusCodeError {
		b.SetError(s.Status().Message())
	}
	b.SetResource(r.resource)
	b.SetScopeOf(&r.scope)
	if state := s.TraceState().AsRaw(); state != "" {
		b.SetTraceState(state)
	}
	b.SetDropped(int64(s.DroppedAttributesCount()))
	r.links(s)
	return b.Entry()
}

// Span returns the record of a span that is no operation.
func (r *Reader) Span(s ptrace.Span) *op.Span {
	start, duration, _ := times(s)
	r.span = op.Span{
		Name: valid(s.Name()), TraceID: op.TraceID(s.TraceID()), SpanID: op.SpanID(s.SpanID()), ParentSpanID: op.SpanID(s.ParentSpanID()),
		RemoteParent: s.Flags()&flagHasRemote != 0 && s.Flags()&flagRemote != 0,
		Start:        start, Duration: max(0, duration), Failed: s.Status().Code() == ptrace.StatusCodeError,
	}
	if r.resource != nil {
		r.span.Service = r.resource.Service
	}
	r.builder.Reset()
	r.links(s)
	r.builder.FillSpan(&r.span)
	r.span.Attrs = r.requestAttrs(s)
	return &r.span
}

// requestAttrs returns the attributes of a request that are kept, nil for none.
func (r *Reader) requestAttrs(s ptrace.Span) (attrs []op.Attr) {
	var index opmodel.AttrIndex
	for key, v := range s.Attributes().All() {
		if attrmap.KeepsOfRequest(r.mapping, key, v.Type() == pcommon.ValueTypeEmpty) {
			attrs = index.Set(attrs, attrOf(key, v))
		}
	}
	return attrmap.Inherit(r.mapping, attrs, r.span.Service, &r.scope, r.resource)
}

// The bits of a span's flags: the second says whether the parent lies in another
// process, the first that this is known.
const (
	flagHasRemote = 1 << 8
	flagRemote    = 1 << 9
)

// maxBareDuration is the latest end, in nanoseconds, that together with a start of 0
// is a duration whose start is not known: a day.
const maxBareDuration = 24 * 60 * 60 * 1e9

// times returns when a span started and how long it took, which is negative if it ended
// before it started. A time that is zero or does not fit is not known, and a duration
// that is not known is 0; ok is false then.
func times(s ptrace.Span) (start op.Int, duration int64, ok bool) {
	from, to := uint64(s.StartTimestamp()), uint64(s.EndTimestamp())
	if from == 0 && to > 0 && to <= maxBareDuration {
		return op.Int{}, int64(to), true
	}
	fromOK, toOK := from != 0 && from <= math.MaxInt64, to != 0 && to <= math.MaxInt64
	if fromOK {
		start = op.Known(int64(from))
	}
	if fromOK && toOK {
		duration = int64(to) - int64(from)
	}
	return start, duration, fromOK && toOK
}

func (r *Reader) links(s ptrace.Span) {
	b := r.builder
	for _, l := range s.Links().All() {
		link := op.Link{TraceID: op.TraceID(l.TraceID()), SpanID: op.SpanID(l.SpanID())}
		var extra op.LinkExtra
		for key, v := range l.Attributes().All() {
			b.LinkAttr(&link, &extra, attrOf(key, v))
		}
		b.AddLink(link)
	}
	b.DropLinks(int64(s.DroppedLinksCount()))
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
