package otlp

import (
	"encoding/binary"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/span"
)

// The fields of OTLP's Span, Event, Link and Status.
const (
	spanTraceID           = 1
	spanSpanID            = 2
	spanTraceState        = 3
	spanParentSpanID      = 4
	spanName              = 5
	spanKindField         = 6
	spanStart             = 7
	spanEnd               = 8
	spanAttributes        = 9
	spanDroppedAttributes = 10
	spanEvents            = 11
	spanDroppedEvents     = 12
	spanLinks             = 13
	spanDroppedLinks      = 14
	spanStatus            = 15
	spanFlags             = 16

	eventTime              = 1
	eventName              = 2
	eventAttributes        = 3
	eventDroppedAttributes = 4

	linkTraceID           = 1
	linkSpanID            = 2
	linkAttributes        = 4
	linkDroppedAttributes = 5
	linkFlags             = 6

	statusMessage = 2
	statusCode    = 3
)

// spanReserve is the usual size of the length in front of a span.
const spanReserve = 2

// span appends s as an element of ScopeSpans.spans. What is written is what
// OpenTelemetry's own OTLP exporters send, byte for byte, but for text that is
// not UTF-8, which makes those fail, and for parts that span.Data.Clean removes.
func (c *protoCodec) span(dst []byte, v *span.Data, cached *template) []byte {
	dst, start := beginSpan(dst, v)
	if cached != nil {
		dst = append(dst, cached.name...)
	} else {
		dst = c.nameField(dst, v.Name)
	}
	dst = appendKindAndTimes(dst, kindNumber(v.Kind), unixNano(v.Start), unixNano(v.End))
	if cached != nil {
		dst = cached.appendAttributes(dst, v.Attrs, c, &c.devices)
	} else {
		dst = c.spanAttributes(dst, v.Attrs)
	}
	dst = appendVarintField(dst, spanDroppedAttributes, count32(v.DroppedAttrs))
	for i := range v.Events {
		dst = c.event(dst, &v.Events[i])
	}
	dst = appendVarintField(dst, spanDroppedEvents, count32(v.DroppedEvents))
	for i := range v.Links {
		dst = c.link(dst, &v.Links[i])
	}
	dst = appendVarintField(dst, spanDroppedLinks, count32(v.DroppedLinks))
	dst = appendStatus(dst, v.Status)
	dst = appendSpanFlags(dst, flags(v.Context.TraceFlags(), v.Parent))
	return endMessage(dst, start, spanReserve)
}

func (c *protoCodec) nameField(dst []byte, name string) []byte {
	return appendOptionalText(dst, spanName, name)
}

// beginSpan begins a span and appends its ids.
func beginSpan(dst []byte, v *span.Data) (grown []byte, start int) {
	traceID, spanID, parentID := v.Context.TraceID(), v.Context.SpanID(), v.Parent.SpanID()
	if state := v.Context.TraceState(); state.Len() > 0 || !parentID.IsValid() {
		dst, start = beginMessage(dst, scopeSpansSpans, spanReserve)
		dst = appendBytesField(dst, spanTraceID, traceID[:])
		dst = appendBytesField(dst, spanSpanID, spanID[:])
		dst = appendTraceState(dst, state)
		if parentID.IsValid() {
			dst = appendBytesField(dst, spanParentSpanID, parentID[:])
		}
		return dst, start
	}
	// The usual case, in one append.
	var b [1 + spanReserve + 2 + len(traceID) + 2 + len(spanID) + 2 + len(parentID)]byte
	b[0] = scopeSpansSpans<<3 | wireBytes
	ids := b[1+spanReserve:]
	ids[0], ids[1] = spanTraceID<<3|wireBytes, byte(len(traceID))
	copy(ids[2:], traceID[:])
	ids[18], ids[19] = spanSpanID<<3|wireBytes, byte(len(spanID))
	copy(ids[20:], spanID[:])
	ids[28], ids[29] = spanParentSpanID<<3|wireBytes, byte(len(parentID))
	copy(ids[30:], parentID[:])
	return append(dst, b[:]...), len(dst) + 1 + spanReserve
}

// appendKindAndTimes appends three fields, in one append where all are there.
func appendKindAndTimes(dst []byte, kind, start, end uint64) []byte {
	if kind == 0 || start == 0 || end == 0 {
		dst = appendVarintField(dst, spanKindField, kind)
		dst = appendFixed64Field(dst, spanStart, start)
		return appendFixed64Field(dst, spanEnd, end)
	}
	var b [20]byte
	b[0], b[1] = spanKindField<<3|wireVarint, byte(kind)
	b[2] = spanStart<<3 | wireFixed64
	binary.LittleEndian.PutUint64(b[3:], start)
	b[11] = spanEnd<<3 | wireFixed64
	binary.LittleEndian.PutUint64(b[12:], end)
	return append(dst, b[:]...)
}

func (c *protoCodec) spanAttributes(dst []byte, attrs []attribute.KeyValue) []byte {
	return c.attributes(dst, spanAttributes, attrs, 0)
}

func (c *protoCodec) event(dst []byte, e *sdktrace.Event) []byte {
	dst, start := beginMessage(dst, spanEvents, 1)
	dst = appendFixed64Field(dst, eventTime, unixNano(e.Time))
	dst = appendOptionalText(dst, eventName, e.Name)
	dst = c.attributes(dst, eventAttributes, e.Attributes, 0)
	dst = appendVarintField(dst, eventDroppedAttributes, count32(e.DroppedAttributeCount))
	return endMessage(dst, start, 1)
}

// link appends a link, without its tracestate: OpenTelemetry's exporters do
// not send it either.
func (c *protoCodec) link(dst []byte, l *sdktrace.Link) []byte {
	traceID, spanID := l.SpanContext.TraceID(), l.SpanContext.SpanID()
	dst, start := beginMessage(dst, spanLinks, 1)
	dst = appendBytesField(dst, linkTraceID, traceID[:])
	dst = appendBytesField(dst, linkSpanID, spanID[:])
	dst = c.attributes(dst, linkAttributes, l.Attributes, 0)
	dst = appendVarintField(dst, linkDroppedAttributes, count32(l.DroppedAttributeCount))
	dst = appendFixed32Field(dst, linkFlags, flags(l.SpanContext.TraceFlags(), l.SpanContext))
	return endMessage(dst, start, 1)
}

// appendTraceState appends a tracestate as TraceState.String has it, without
// allocating.
func appendTraceState(dst []byte, state trace.TraceState) []byte {
	if state.Len() == 0 {
		return dst
	}
	dst, start := beginMessage(dst, spanTraceState, 1)
	state.Walk(func(key, value string) bool {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, key...)
		dst = append(dst, '=')
		dst = append(dst, value...)
		return true
	})
	return endMessage(dst, start, 1)
}

func appendStatus(dst []byte, s sdktrace.Status) []byte {
	if s == (sdktrace.Status{}) {
		return append(dst, spanStatus<<3|wireBytes, 0)
	}
	dst, start := beginMessage(dst, spanStatus, 1)
	dst = appendOptionalText(dst, statusMessage, s.Description)
	dst = appendVarintField(dst, statusCode, statusNumber(s.Code))
	return endMessage(dst, start, 1)
}

// appendSpanFlags appends the flags, which are never 0, in one append.
func appendSpanFlags(dst []byte, flags uint32) []byte {
	const tag = spanFlags<<3 | wireFixed32
	return append(dst, tag&0x7f|0x80, tag>>7, byte(flags), byte(flags>>8), byte(flags>>16), byte(flags>>24))
}
