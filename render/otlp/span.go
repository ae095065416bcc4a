package otlp

import (
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// The codes of a span's status, with OTLP's numbers.
const (
	statusOK    = 1
	statusError = 2
)

// The flags of a span whose parent is in another process.
const flagsRemoteParent = 0x301

// noExtra stands for what a span without Extra has.
var noExtra = &op.Extra{}

// kindNumber returns OTLP's number of a kind.
func kindNumber(kind string) int64 {
	switch kind {
	case "unspecified":
		return 0
	case "server":
		return 2
	case "client":
		return 3
	case "producer":
		return 4
	case "consumer":
		return 5
	}
	return 1
}

// appendEntry appends an operation as a span with the given ids.
func (w *Writer) appendEntry(dst []byte, e *op.Entry, trace op.TraceID, span op.SpanID) []byte {
	x := e.Extra
	if x == nil {
		x = noExtra
	}
	w.state = append(w.state[:0], x.TraceState...)
	if len(w.state) == 0 && e.AdjustedCount >= 1 {
		w.state = spanattr.AppendTraceState(w.state, e.AdjustedCount)
	}
	dst = appendIDs(dst, trace, span, e.ParentSpanID, w.state)
	dst = appendNumber(dst, `,"flags":`, int64(x.Flags))
	dst = jsontext.AppendString(append(dst, `,"name":`...), spanattr.Name(e))
	dst = appendNumber(dst, `,"kind":`, kindNumber(x.Kind))
	dst = appendTimes(dst, e.Start, e.Duration)
	attrs := attrmap.Attrs(e)
	if e.Rank != w.source.rank {
		attrs = opmodel.AppendInt(attrs, attrkey.Rank, e.Rank)
	}
	dst = w.attrs.appendMember(dst, append(attrs, e.Attrs...))
	dst = appendNumber(dst, `,"droppedAttributesCount":`, min(e.DroppedAttributes, math.MaxUint32))
	dst = w.appendRest(dst, x, e.Links, trace, span)
	return append(appendStatus(dst, x, e.Failed, e.Error), '}')
}

// appendSpan appends a span that is not an operation.
func (w *Writer) appendSpan(dst []byte, s *op.Span) []byte {
	x := s.Extra
	if x == nil {
		x = noExtra
	}
	dst = appendIDs(dst, s.TraceID, s.SpanID, s.ParentSpanID, []byte(x.TraceState))
	if x.Flags != 0 || !s.RemoteParent {
		dst = appendNumber(dst, `,"flags":`, int64(x.Flags))
	} else {
		dst = appendNumber(dst, `,"flags":`, flagsRemoteParent)
	}
	dst = jsontext.AppendString(append(dst, `,"name":`...), s.Name)
	dst = appendNumber(dst, `,"kind":`, kindNumber(x.Kind))
	dst = appendTimes(dst, s.Start, s.Duration)
	dst = w.attrs.appendMember(dst, s.Attrs)
	dst = appendNumber(dst, `,"droppedAttributesCount":`, min(x.DroppedAttributes, math.MaxUint32))
	dst = w.appendRest(dst, x, s.Links, s.TraceID, s.SpanID)
	return append(appendStatus(dst, x, s.Failed, ""), '}')
}

// appendRest appends the events and links of a span.
func (w *Writer) appendRest(dst []byte, x *op.Extra, links []op.Link, trace op.TraceID, span op.SpanID) []byte {
	dst = w.appendEvents(dst, x.Events)
	dst = appendNumber(dst, `,"droppedEventsCount":`, min(x.DroppedEvents, math.MaxUint32))
	dst = w.appendLinks(dst, links, trace, span)
	return appendNumber(dst, `,"droppedLinksCount":`, min(x.DroppedLinks, math.MaxUint32))
}

func (w *Writer) appendEvents(dst []byte, events []op.Event) []byte {
	if len(events) == 0 {
		return dst
	}
	dst = append(dst, `,"events":[`...)
	for i := range events {
		if i > 0 {
			dst = append(dst, ',')
		}
		e := &events[i]
		dst = strconv.AppendInt(append(dst, `{"timeUnixNano":"`...), max(0, e.Time.V), 10)
		dst = jsontext.AppendString(append(dst, `","name":`...), e.Name)
		dst = w.attrs.appendMember(dst, e.Attrs)
		dst = appendNumber(dst, `,"droppedAttributesCount":`, min(e.DroppedAttributes, math.MaxUint32))
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendLinks appends the links of a span, without those to itself, for which
// backends have no use.
func (w *Writer) appendLinks(dst []byte, links []op.Link, trace op.TraceID, span op.SpanID) []byte {
	start := len(dst)
	for i := range links {
		l := &links[i]
		if l.TraceID == trace && l.SpanID == span {
			continue
		}
		if len(dst) == start {
			dst = append(dst, `,"links":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = w.appendLink(dst, l)
	}
	if len(dst) > start {
		dst = append(dst, ']')
	}
	return dst
}

func (w *Writer) appendLink(dst []byte, l *op.Link) []byte {
	x := l.Extra
	if x == nil {
		x = &op.LinkExtra{}
	}
	dst = jsontext.AppendHex(append(dst, `{"traceId":"`...), l.TraceID[:])
	dst = jsontext.AppendHex(append(dst, `","spanId":"`...), l.SpanID[:])
	dst = append(dst, '"')
	if x.TraceState != "" {
		dst = jsontext.AppendString(append(dst, `,"traceState":`...), x.TraceState)
	}
	var attrs []op.Attr
	for _, key := range [...]string{attrkey.LinkWeight, attrkey.LinkAttention} {
		if opmodel.FindAttr(x.Attrs, key) == nil {
			attrs = opmodel.AppendInt(attrs, key, *opmodel.LinkWeight(l, key))
		}
	}
	dst = w.attrs.appendMember(dst, append(attrs, x.Attrs...))
	dst = appendNumber(dst, `,"droppedAttributesCount":`, min(x.DroppedAttributes, math.MaxUint32))
	dst = appendNumber(dst, `,"flags":`, int64(x.Flags))
	return append(dst, '}')
}

// appendNumber appends a member, or nothing where n is 0.
func appendNumber(dst []byte, key string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, key...), n, 10)
}

func appendIDs(dst []byte, trace op.TraceID, span, parent op.SpanID, state []byte) []byte {
	dst = jsontext.AppendHex(append(dst, `{"traceId":"`...), trace[:])
	dst = jsontext.AppendHex(append(dst, `","spanId":"`...), span[:])
	if len(state) > 0 {
		dst = jsontext.AppendString(append(dst, `","traceState":`...), string(state))
		dst = dst[:len(dst)-1] // the quote comes below
	}
	if !parent.IsZero() && parent != span { // a backend may follow parents for ever
		dst = jsontext.AppendHex(append(dst, `","parentSpanId":"`...), parent[:])
	}
	return append(dst, '"')
}

// appendTimes appends start and end. A start that is not known is written as 0,
// which readers recognise.
func appendTimes(dst []byte, start op.Int, duration int64) []byte {
	dst = strconv.AppendInt(append(dst, `,"startTimeUnixNano":"`...), start.V, 10)
	dst = strconv.AppendUint(append(dst, `","endTimeUnixNano":"`...), uint64(start.V)+uint64(duration), 10)
	return append(dst, '"')
}

// appendStatus appends the status; message is the description of a failed operation.
func appendStatus(dst []byte, x *op.Extra, failed bool, message string) []byte {
	code := int64(0)
	switch {
	case failed:
		code = statusError
	case x.OK:
		code = statusOK
	}
	if message == "" {
		message = x.Message
	}
	if code == 0 && message == "" {
		return dst
	}
	dst = strconv.AppendInt(append(dst, `,"status":{"code":`...), code, 10)
	if message != "" {
		dst = jsontext.AppendString(append(dst, `,"message":`...), message)
	}
	return append(dst, '}')
}
