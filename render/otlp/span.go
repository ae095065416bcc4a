package otlp

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
	"github.com/optrace/optrace/render/internal/wire"
)

// The codes of a span's status, with OTLP's numbers.
const (
	statusOK    = 1
	statusError = 2
)

const flagsRemoteParent = 0x301 // the flags of a span with a parent in another process

var noExtra op.Extra

func kindNumber(kind string) int32 {
	if i := slices.Index([]string{"unspecified", "internal", "server", "client", "producer", "consumer"},
		kind); i >= 0 {
		return int32(i)
	}
	return 1
}

func member(name string, value any) wire.Field { return wire.Field{Name: name, Value: value} }

// spanOf returns the span of an operation. rank is the rank in its resource.
func (w *Writer) spanOf(e *op.Entry, rank op.Int) *op.Span {
	x := *cmp.Or(e.Extra, &noExtra)
	x.Scope.Name = e.Scope
	x.DroppedAttributes = e.DroppedAttributes
	x.Message = cmp.Or(e.Error, x.Message)
	x.TraceState = cmp.Or(x.TraceState, spanattr.TraceState(e.AdjustedCount))
	attrs := attrmap.Attrs(e)
	if e.Rank != rank {
		attrs = opmodel.AppendInt(attrs, attrkey.Rank, e.Rank)
	}
	s := &op.Span{
		Name: spanattr.Name(e), ParentSpanID: e.ParentSpanID, Start: e.Start, Duration: e.Duration, Failed: e.Failed,
		Attrs: append(attrs, e.Attrs...), Links: e.Links, Extra: &x,
	}
	s.TraceID, s.SpanID = w.ids.IDs(e)
	return s
}

// spanMessage returns the message of a span. Readers recognise start 0 as unknown.
func spanMessage(s *op.Span) wire.Message {
	x := cmp.Or(s.Extra, &noExtra)
	parent := s.ParentSpanID[:]
	flags := x.Flags
	if s.ParentSpanID.IsZero() || s.ParentSpanID == s.SpanID { // a backend may follow parents for ever
		parent = nil
	}
	if flags == 0 && s.RemoteParent {
		flags = flagsRemoteParent
	}
	m := wire.Message{
		member("traceId", wire.ID(s.TraceID[:])), member("spanId", wire.ID(s.SpanID[:])),
		member("traceState", x.TraceState),
		member("parentSpanId", wire.ID(parent)), member("flags", flags), member("name", wire.Text(s.Name)),
		member("kind", kindNumber(x.Kind)),
		member("startTimeUnixNano", wire.Always{Of: s.Start.V}),
		member("endTimeUnixNano", wire.Always{Of: s.Start.V + s.Duration}),
		member("attributes", wire.Attributes(s.Attrs)), dropped("droppedAttributesCount", x.DroppedAttributes),
		member("events", events(x.Events)), dropped("droppedEventsCount", x.DroppedEvents),
		member("links", links(s)), dropped("droppedLinksCount", x.DroppedLinks),
	}
	code := int32(0)
	switch {
	case s.Failed:
		code = statusError
	case x.OK:
		code = statusOK
	}
	if code != 0 || x.Message != "" {
		m = append(m, member("status", wire.Message{member("code", wire.Always{Of: code}),
			member("message", x.Message)}))
	}
	return m
}

func dropped(name string, n int64) wire.Field {
	return member(name, uint32(min(n, math.MaxUint32)))
}

func events(all []op.Event) (list []wire.Message) {
	for i := range all {
		e := &all[i]
		list = append(list, wire.Message{
			member("timeUnixNano", wire.Always{Of: max(0, e.Time.V)}), member("name", wire.Text(e.Name)),
			member("attributes", wire.Attributes(e.Attrs)), dropped("droppedAttributesCount", e.DroppedAttributes),
		})
	}
	return list
}

// links returns the links of a span to other spans. Backends have no use for links to itself.
func links(s *op.Span) (list []wire.Message) {
	for i := range s.Links {
		l := &s.Links[i]
		if l.TraceID == s.TraceID && l.SpanID == s.SpanID {
			continue
		}
		x := cmp.Or(l.Extra, &op.LinkExtra{})
		var attrs []op.Attr
		for _, key := range []string{attrkey.LinkWeight, attrkey.LinkAttention} {
			if opmodel.FindAttr(x.Attrs, key) == nil {
				attrs = opmodel.AppendInt(attrs, key, *opmodel.LinkWeight(l, key))
			}
		}
		list = append(list, wire.Message{
			member("traceId", wire.ID(l.TraceID[:])), member("spanId", wire.ID(l.SpanID[:])),
			member("traceState", x.TraceState),
			member("attributes", wire.Attributes(append(attrs, x.Attrs...))),
			dropped("droppedAttributesCount", x.DroppedAttributes), member("flags", x.Flags),
		})
	}
	return list
}
