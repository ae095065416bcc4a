package otlp

import (
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/text/protobuf"
)

const spanReserve = 2

// span appends v as an element of ScopeSpans.spans. The bytes equal those of OpenTelemetry's own OTLP exporters,
// except for text that is not UTF-8, which makes them fail, and for parts that span.Data.Clean removes.
func (c *protoCodec) span(dst []byte, v *span.Data, cached *template) []byte {
	traceID := v.Context.TraceID()
	spanID := v.Context.SpanID()
	parentID := v.Parent.SpanID()
	dst, start := protobuf.Begin(dst, protobuf.ScopeSpansSpans, spanReserve)
	dst = protobuf.AppendBytes(dst, protobuf.SpanTraceID, traceID[:])
	dst = protobuf.AppendBytes(dst, protobuf.SpanID, spanID[:])
	dst = appendTraceState(dst, v.Context.TraceState())
	if parentID.IsValid() {
		dst = protobuf.AppendBytes(dst, protobuf.SpanParentID, parentID[:])
	}
	if cached != nil {
		dst = append(dst, cached.name...)
	} else {
		dst = c.nameField(dst, v.Name)
	}
	dst = protobuf.AppendUint(dst, protobuf.SpanKind, kindNumber(v.Kind))
	dst = protobuf.AppendFixed64(dst, protobuf.SpanStart, unixNano(v.Start))
	dst = protobuf.AppendFixed64(dst, protobuf.SpanEnd, unixNano(v.End))
	if cached != nil {
		dst = cached.appendAttributes(dst, v.Attrs, c, &c.devices)
	} else {
		dst = c.spanAttributes(dst, v.Attrs)
	}
	dst = protobuf.AppendUint(dst, protobuf.SpanDroppedAttributes, count32(v.DroppedAttrs))
	for i := range v.Events {
		dst = c.event(dst, &v.Events[i])
	}
	dst = protobuf.AppendUint(dst, protobuf.SpanDroppedEvents, count32(v.DroppedEvents))
	for i := range v.Links {
		dst = c.link(dst, &v.Links[i])
	}
	dst = protobuf.AppendUint(dst, protobuf.SpanDroppedLinks, count32(v.DroppedLinks))
	dst = appendStatus(dst, v.Status)
	dst = protobuf.AppendFixed32(dst, protobuf.SpanFlags, flags(v.Context.TraceFlags(), v.Parent))
	return protobuf.End(dst, start, spanReserve)
}

func (c *protoCodec) nameField(dst []byte, name string) []byte {
	return protobuf.AppendOptionalText(dst, protobuf.SpanName, name)
}

func (c *protoCodec) spanAttributes(dst []byte, attrs []attribute.KeyValue) []byte {
	return c.attributes(dst, protobuf.SpanAttributes, attrs, 0)
}

func (c *protoCodec) event(dst []byte, e *sdktrace.Event) []byte {
	dst, start := protobuf.Begin(dst, protobuf.SpanEvents, 1)
	dst = protobuf.AppendFixed64(dst, protobuf.EventTime, unixNano(e.Time))
	dst = protobuf.AppendOptionalText(dst, protobuf.EventName, e.Name)
	dst = c.attributes(dst, protobuf.EventAttributes, e.Attributes, 0)
	dst = protobuf.AppendUint(dst, protobuf.EventDroppedAttributes, count32(e.DroppedAttributeCount))
	return protobuf.End(dst, start, 1)
}

// link appends a link without its tracestate, like OpenTelemetry's exporters.
func (c *protoCodec) link(dst []byte, l *sdktrace.Link) []byte {
	traceID := l.SpanContext.TraceID()
	spanID := l.SpanContext.SpanID()
	dst, start := protobuf.Begin(dst, protobuf.SpanLinks, 1)
	dst = protobuf.AppendBytes(dst, protobuf.LinkTraceID, traceID[:])
	dst = protobuf.AppendBytes(dst, protobuf.LinkSpanID, spanID[:])
	dst = c.attributes(dst, protobuf.LinkAttributes, l.Attributes, 0)
	dst = protobuf.AppendUint(dst, protobuf.LinkDroppedAttributes, count32(l.DroppedAttributeCount))
	dst = protobuf.AppendFixed32(dst, protobuf.LinkFlags, flags(l.SpanContext.TraceFlags(), l.SpanContext))
	return protobuf.End(dst, start, 1)
}

func appendTraceState(dst []byte, state trace.TraceState) []byte {
	if state.Len() == 0 {
		return dst
	}
	dst, start := protobuf.Begin(dst, protobuf.SpanTraceState, 1)
	state.Walk(func(key, value string) bool {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, key...)
		dst = append(dst, '=')
		dst = append(dst, value...)
		return true
	})
	return protobuf.End(dst, start, 1)
}

func appendStatus(dst []byte, s sdktrace.Status) []byte {
	if s == (sdktrace.Status{}) {
		return append(dst, protobuf.SpanStatus<<3|protobuf.Bytes, 0)
	}
	dst, start := protobuf.Begin(dst, protobuf.SpanStatus, 1)
	dst = protobuf.AppendOptionalText(dst, protobuf.StatusMessage, s.Description)
	dst = protobuf.AppendUint(dst, protobuf.StatusCode, statusNumber(s.Code))
	return protobuf.End(dst, start, 1)
}
