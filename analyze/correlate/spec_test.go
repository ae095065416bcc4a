package correlate_test

import (
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/op"
)

// side is where a span of a test is held.
type side uint8

const (
	local side = 1 << iota
	service
	both = local | service
)

// span is a span as the tests write it: an operation where it has a device.
type span struct {
	trace      byte
	id, parent byte
	name       string
	device     string
	start, end int64
	side       side
	remote     bool
	links      []op.Link
}

func traceOf(n byte) op.TraceID { return op.TraceID{15: n} }

func idOf(n byte) op.SpanID { return op.SpanID{7: n} }

// record returns the span as a reader yields it.
func (s *span) record() op.Record {
	if s.device != "" {
		return op.Record{Entry: &op.Entry{
			Operation: s.name, Kind: op.KindCompute, DeviceID: s.device,
			TraceID: traceOf(s.trace), SpanID: idOf(s.id), ParentSpanID: idOf(s.parent),
			Start: op.Known(s.start), Duration: s.end - s.start, Links: s.links,
		}}
	}
	return op.Record{Span: &op.Span{
		Name: s.name, Service: "api", TraceID: traceOf(s.trace), SpanID: idOf(s.id), ParentSpanID: idOf(s.parent),
		RemoteParent: s.remote, Start: op.Known(s.start), Duration: s.end - s.start, Links: s.links,
	}}
}

// join returns the join of spans, each on the side that it names.
func join(spans []span) *correlate.Join {
	j := correlate.NewJoin()
	for i := range spans {
		if spans[i].side&service != 0 {
			j.AddService(spans[i].record())
		}
		if spans[i].side&local != 0 {
			j.AddLocal(spans[i].record())
		}
	}
	return j
}

// moved returns spans with every one of them on a side.
func moved(spans []span, to side) []span {
	all := make([]span, len(spans))
	for i, s := range spans {
		s.side = to
		all[i] = s
	}
	return all
}
