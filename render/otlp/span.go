package otlp

import (
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// Kinds of spans and codes of their status, with OTLP's numbers.
const (
	kindInternal = 1
	statusError  = 2
)

// The flags of a span whose parent is in another process.
const flagsRemoteParent = 0x301

// appendEntry appends an operation as a span with the given ids.
func (w *Writer) appendEntry(dst []byte, e *op.Entry, trace op.TraceID, span op.SpanID) []byte {
	dst = appendIDs(dst, trace, span, e.ParentSpanID)
	if e.AdjustedCount >= 1 {
		dst = append(dst, `,"traceState":"`...)
		dst = append(spanattr.AppendTraceState(dst, e.AdjustedCount), '"')
	}
	dst = jsontext.AppendString(append(dst, `,"name":`...), e.Operation)
	dst = strconv.AppendInt(append(dst, `,"kind":`...), kindInternal, 10)
	dst = appendTimes(dst, e.Start, e.Duration)
	dst = append(dst, `,"attributes":[`...)
	w.attrs.buf = dst
	spanattr.Entry(&w.attrs, e)
	if e.Rank != w.source.rank {
		spanattr.Int(&w.attrs, op.KeyRank, e.Rank)
	}
	for _, a := range e.Attrs {
		w.attrs.Str(a.Key, a.Value)
	}
	dst = append(w.attrs.end(), ']')
	if e.DroppedAttributes > 0 {
		dst = strconv.AppendInt(append(dst, `,"droppedAttributesCount":`...), min(e.DroppedAttributes, math.MaxUint32), 10)
	}
	dst = appendLinks(dst, e.Links, trace, span)
	return append(appendStatus(dst, e.Failed, e.Error), '}')
}

// appendSpan appends a span that is not an operation.
func appendSpan(dst []byte, s *op.Span) []byte {
	dst = appendIDs(dst, s.TraceID, s.SpanID, s.ParentSpanID)
	if s.RemoteParent {
		dst = strconv.AppendInt(append(dst, `,"flags":`...), flagsRemoteParent, 10)
	}
	dst = jsontext.AppendString(append(dst, `,"name":`...), s.Name)
	dst = strconv.AppendInt(append(dst, `,"kind":`...), kindInternal, 10)
	dst = appendTimes(dst, s.Start, s.Duration)
	dst = appendLinks(dst, s.Links, s.TraceID, s.SpanID)
	return append(appendStatus(dst, s.Failed, ""), '}')
}

// appendLinks appends the links of a span, without those to itself, for which
// backends have no use.
func appendLinks(dst []byte, links []op.Link, trace op.TraceID, span op.SpanID) []byte {
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
		dst = jsontext.AppendHex(append(dst, `{"traceId":"`...), l.TraceID[:])
		dst = jsontext.AppendHex(append(dst, `","spanId":"`...), l.SpanID[:])
		dst = append(dst, '"')
		if l.Weight.Known {
			dst = append(dst, `,"attributes":[{"key":"`+op.KeyLinkWeight+`","value":{"intValue":"`...)
			dst = append(strconv.AppendInt(dst, l.Weight.V, 10), `"}}]`...)
		}
		dst = append(dst, '}')
	}
	if len(dst) > start {
		dst = append(dst, ']')
	}
	return dst
}

func appendIDs(dst []byte, trace op.TraceID, span, parent op.SpanID) []byte {
	dst = jsontext.AppendHex(append(dst, `{"traceId":"`...), trace[:])
	dst = jsontext.AppendHex(append(dst, `","spanId":"`...), span[:])
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

func appendStatus(dst []byte, failed bool, message string) []byte {
	if !failed {
		return dst
	}
	dst = strconv.AppendInt(append(dst, `,"status":{"code":`...), statusError, 10)
	if message != "" {
		dst = jsontext.AppendString(append(dst, `,"message":`...), message)
	}
	return append(dst, '}')
}
