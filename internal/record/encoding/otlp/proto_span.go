package otlp

import (
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/span"
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

const spanReserve = 2

// span appends v as an element of ScopeSpans.spans. The bytes equal those of OpenTelemetry's own OTLP exporters,
// except for text that is not UTF-8, which makes them fail, and for parts that span.Data.Clean removes.
func (c *protoCodec) span(dst []byte, v *span.Data, cached *template) []byte {
	traceID := v.Context.TraceID()
	spanID := v.Context.SpanID()
	parentID := v.Parent.SpanID()
	dst, start := beginMessage(dst, scopeSpansSpans, spanReserve)
	dst = appendBytesField(dst, spanTraceID, traceID[:])
	dst = appendBytesField(dst, spanSpanID, spanID[:])
	dst = appendTraceState(dst, v.Context.TraceState())
	if parentID.IsValid() {
		dst = appendBytesField(dst, spanParentSpanID, parentID[:])
	}
	if cached != nil {
		dst = append(dst, cached.name...)
	} else {
		dst = c.nameField(dst, v.Name)
	}
	dst = appendVarintField(dst, spanKindField, kindNumber(v.Kind))
	dst = appendFixed64Field(dst, spanStart, unixNano(v.Start))
	dst = appendFixed64Field(dst, spanEnd, unixNano(v.End))
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
	dst = appendFixed32Field(dst, spanFlags, flags(v.Context.TraceFlags(), v.Parent))
	return endMessage(dst, start, spanReserve)
}

func (c *protoCodec) nameField(dst []byte, name string) []byte {
	return appendOptionalText(dst, spanName, name)
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

// link appends a link without its tracestate, like OpenTelemetry's exporters.
func (c *protoCodec) link(dst []byte, l *sdktrace.Link) []byte {
	traceID := l.SpanContext.TraceID()
	spanID := l.SpanContext.SpanID()
	dst, start := beginMessage(dst, spanLinks, 1)
	dst = appendBytesField(dst, linkTraceID, traceID[:])
	dst = appendBytesField(dst, linkSpanID, spanID[:])
	dst = c.attributes(dst, linkAttributes, l.Attributes, 0)
	dst = appendVarintField(dst, linkDroppedAttributes, count32(l.DroppedAttributeCount))
	dst = appendFixed32Field(dst, linkFlags, flags(l.SpanContext.TraceFlags(), l.SpanContext))
	return endMessage(dst, start, 1)
}

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
