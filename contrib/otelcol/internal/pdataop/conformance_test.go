package pdataop

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
)

func TestConformance(t *testing.T) {
	r := NewReader(nil) // one for all: nothing of a span is left for the next
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		if c.Needs.Has(optest.Duplicates) {
			t.Skip("pdata's own methods put a key once")
		}
		td := traces(&c.Span)
		rs := td.ResourceSpans().At(0)
		r.SetResource(Resource(rs.Resource()))
		r.SetScope(rs.ScopeSpans().At(0).Scope())
		return r.Entry(rs.ScopeSpans().At(0).Spans().At(0))
	})
}

// traces returns a span as the Collector has it.
func traces(s *optest.Span) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	put(rs.Resource().Attributes(), s.Resource)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(s.Scope)
	out := ss.Spans().AppendEmpty()
	out.SetName(s.Name)
	out.SetTraceID(pcommon.TraceID(s.TraceID))
	out.SetSpanID(pcommon.SpanID(s.SpanID))
	out.SetParentSpanID(pcommon.SpanID(s.ParentSpanID))
	out.SetStartTimestamp(pcommon.Timestamp(s.Start))
	out.SetEndTimestamp(pcommon.Timestamp(s.End))
	out.TraceState().FromRaw(s.TraceState)
	out.SetDroppedAttributesCount(s.Dropped)
	out.SetDroppedLinksCount(s.DroppedLinks)
	if s.Failed {
		out.Status().SetCode(ptrace.StatusCodeError)
		out.Status().SetMessage(s.Error)
	}
	put(out.Attributes(), s.Attributes)
	for _, l := range s.Links {
		link := out.Links().AppendEmpty()
		link.SetTraceID(pcommon.TraceID(l.TraceID))
		link.SetSpanID(pcommon.SpanID(l.SpanID))
		put(link.Attributes(), l.Attributes)
	}
	return td
}

// put adds attributes to m, of those with equal keys the last.
func put(m pcommon.Map, attrs []optest.Attr) {
	for _, a := range attrs {
		set(m.PutEmpty(a.Key), a.Value)
	}
}

func set(v pcommon.Value, from any) {
	switch from := from.(type) {
	case string:
		v.SetStr(from)
	case int64:
		v.SetInt(from)
	case float64:
		v.SetDouble(from)
	case bool:
		v.SetBool(from)
	case optest.Map:
		put(v.SetEmptyMap(), from)
	case optest.List:
		list(v, from)
	case []string:
		list(v, from)
	case []int64:
		list(v, from)
	case []float64:
		list(v, from)
	case []bool:
		list(v, from)
	}
}

func list[T any](v pcommon.Value, from []T) {
	s := v.SetEmptySlice()
	for _, e := range from {
		set(s.AppendEmpty(), e)
	}
}
