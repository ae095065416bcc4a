package otlp

import (
	"strconv"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/text/lexer"
)

// span appends v and a comma. Identifiers are hexadecimal, 64-bit integers
// strings and enumerations numbers; empty fields are left out.
func (c *jsonCodec) span(dst []byte, v *span.Data, cached *template) []byte {
	dst = appendIDs(dst, v.Context)
	dst = appendTextMember(dst, `,"traceState":`, v.Context.TraceState().String())
	if parentID := v.Parent.SpanID(); parentID.IsValid() {
		dst = append(lexer.AppendHex(append(dst, `,"parentSpanId":"`...), parentID[:]), '"')
	}
	dst = appendNumberMember(dst, `,"flags":`, uint64(flags(v.Context.TraceFlags(), v.Parent)))
	if cached != nil {
		dst = append(dst, cached.name...)
	} else {
		dst = c.nameField(dst, v.Name)
	}
	dst = appendNumberMember(dst, `,"kind":`, kindNumber(v.Kind))
	dst = appendTimeMember(dst, `,"startTimeUnixNano":"`, unixNano(v.Start))
	dst = appendTimeMember(dst, `,"endTimeUnixNano":"`, unixNano(v.End))
	if cached != nil {
		dst = closeList(cached.appendAttributes(append(dst, `,"attributes":[`...), v.Attrs, c, &c.devices))
	} else {
		dst = c.attributes(dst, `,"attributes":[`, v.Attrs, 0)
	}
	dst = appendNumberMember(dst, `,"droppedAttributesCount":`, count32(v.DroppedAttrs))
	dst = c.events(dst, v.Events)
	dst = appendNumberMember(dst, `,"droppedEventsCount":`, count32(v.DroppedEvents))
	dst = c.links(dst, v.Links)
	dst = appendNumberMember(dst, `,"droppedLinksCount":`, count32(v.DroppedLinks))
	dst = appendStatusMember(dst, v.Status)
	return append(dst, '}', ',')
}

func appendIDs(dst []byte, s trace.SpanContext) []byte {
	traceID := s.TraceID()
	spanID := s.SpanID()
	dst = lexer.AppendHex(append(dst, `{"traceId":"`...), traceID[:])
	return append(lexer.AppendHex(append(dst, `","spanId":"`...), spanID[:]), '"')
}

func (c *jsonCodec) nameField(dst []byte, name string) []byte {
	return appendTextMember(dst, `,"name":`, name)
}

func (c *jsonCodec) events(dst []byte, events []sdktrace.Event) []byte {
	if len(events) == 0 {
		return dst
	}
	dst = append(dst, `,"events":[`...)
	for i := range events {
		e := &events[i]
		dst = lexer.AppendString(append(dst, `{"name":`...), e.Name)
		dst = appendTimeMember(dst, `,"timeUnixNano":"`, unixNano(e.Time))
		dst = c.attributes(dst, `,"attributes":[`, e.Attributes, 0)
		dst = appendNumberMember(dst, `,"droppedAttributesCount":`, count32(e.DroppedAttributeCount))
		dst = append(dst, '}', ',')
	}
	return closeList(dst)
}

func (c *jsonCodec) links(dst []byte, links []sdktrace.Link) []byte {
	if len(links) == 0 {
		return dst
	}
	dst = append(dst, `,"links":[`...)
	for i := range links {
		l := &links[i]
		dst = appendIDs(dst, l.SpanContext)
		dst = c.attributes(dst, `,"attributes":[`, l.Attributes, 0)
		dst = appendNumberMember(dst, `,"droppedAttributesCount":`, count32(l.DroppedAttributeCount))
		dst = appendNumberMember(dst, `,"flags":`, uint64(flags(l.SpanContext.TraceFlags(), l.SpanContext)))
		dst = append(dst, '}', ',')
	}
	return closeList(dst)
}

func appendStatusMember(dst []byte, s sdktrace.Status) []byte {
	code := statusNumber(s.Code)
	if code == 0 && s.Description == "" {
		return dst
	}
	dst = strconv.AppendUint(append(dst, `,"status":{"code":`...), code, 10)
	dst = appendTextMember(dst, `,"message":`, s.Description)
	return append(dst, '}')
}

// appendTextMember appends a member unless s is empty. key is the text in front of the value.
func appendTextMember(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return lexer.AppendString(append(dst, key...), s)
}

func appendNumberMember(dst []byte, key string, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendUint(append(dst, key...), n, 10)
}

// appendTimeMember is appendTextMember for a number of 64 bits. key ends with the opening quote.
func appendTimeMember(dst []byte, key string, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return append(strconv.AppendUint(append(dst, key...), n, 10), '"')
}

// closeList ends a list of elements with a comma each.
func closeList(dst []byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst = dst[:last]
	}
	return append(dst, ']')
}
