package otlp

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op/attr"
)

// JSON is OTLP in JSON: a TracesData object per batch and line.
var JSON encoding.Lines = jsonFormat{}

type jsonFormat struct{}

const jsonStart = `{"resourceSpans":[`

func (jsonFormat) Name() string { return "otlp-json" }

func (jsonFormat) Recognize(head []byte) encoding.Origin {
	return encoding.RecognizeLines(head, jsonStart)
}

func (jsonFormat) NewEncoder(m *attr.Mapping, cacheBytes int) encoding.Encoder {
	return newEncoder(m, cacheBytes, new(jsonCodec))
}

// Complete checks for the whole object of the batch, which may lack its newline.
func (jsonFormat) Complete(b *encoding.Batch, written []byte) int {
	if json.Valid(written) {
		return b.Entries
	}
	return -1
}

// Frame returns no bytes for a batch without spans: OTLP cannot express gaps.
func (jsonFormat) Frame(b *encoding.Batch, f *encoding.Framing) (framed []byte, head int) {
	if b.Empty() {
		return nil, 0
	}
	out := f.Scratch
	if f.Newline {
		out = append(out, '\n')
		head = 1
	}
	out = append(out, jsonStart...)
	for _, r := range b.Groups.Resources() {
		out = append(out, r.Resource.Prefix...)
		for _, s := range r.Scopes {
			out = append(out, s.Scope.Prefix...)
			out = closeList(s.AppendRecords(out, b.Records))
			out = append(out, s.Scope.Suffix...)
		}
		out = append(closeList(out), r.Resource.Suffix...)
	}
	f.Scratch = append(closeList(out), '}', '\n')
	return f.Scratch, head
}

// jsonCodec encodes OTLP in JSON. The elements of every list end with a comma, and closeList removes the last one.
type jsonCodec struct{ codecState }

func (c *jsonCodec) resourceEnvelope(r *resource.Resource) (prefix, suffix []byte) {
	prefix = append(prefix, '{')
	if r != nil {
		prefix = append(prefix, `"resource":{`...)
		prefix = c.attributes(prefix, `"attributes":[`, r.Attributes(), 0)
		prefix = append(prefix, `},`...)
	}
	prefix = append(prefix, `"scopeSpans":[`...)
	return prefix, append(appendTextMember(nil, `,"schemaUrl":`, r.SchemaURL()), '}', ',')
}

func (c *jsonCodec) scopeEnvelope(s instrumentation.Scope) (prefix, suffix []byte) {
	prefix = append(prefix, '{')
	if s != (instrumentation.Scope{}) {
		prefix = append(prefix, `"scope":{"name":`...)
		prefix = scalar.AppendString(prefix, s.Name)
		prefix = appendTextMember(prefix, `,"version":`, s.Version)
		prefix = c.attributes(prefix, `,"attributes":[`, s.Attributes.ToSlice(), 0)
		prefix = append(prefix, `},`...)
	}
	prefix = append(prefix, `"spans":[`...)
	return prefix, append(appendTextMember(nil, `,"schemaUrl":`, s.SchemaURL), '}', ',')
}

// span appends v and a comma. Identifiers are hexadecimal, 64-bit integers
// strings and enumerations numbers; empty fields are left out.
func (c *jsonCodec) span(dst []byte, v *span.Data, cached *template) []byte {
	dst = appendIDs(dst, v.Context)
	dst = appendTextMember(dst, `,"traceState":`, v.Context.TraceState().String())
	if parentID := v.Parent.SpanID(); parentID.IsValid() {
		dst = append(scalar.AppendHex(append(dst, `,"parentSpanId":"`...), parentID[:]), '"')
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
	dst = scalar.AppendHex(append(dst, `{"traceId":"`...), traceID[:])
	return append(scalar.AppendHex(append(dst, `","spanId":"`...), spanID[:]), '"')
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
		dst = scalar.AppendString(append(dst, `{"name":`...), e.Name)
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

func appendTextMember(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return scalar.AppendString(append(dst, key...), s)
}

func appendNumberMember(dst []byte, key string, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendUint(append(dst, key...), n, 10)
}

func appendTimeMember(dst []byte, key string, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return append(strconv.AppendUint(append(dst, key...), n, 10), '"')
}

func closeList(dst []byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst = dst[:last]
	}
	return append(dst, ']')
}

func (c *jsonCodec) attributes(dst []byte, key string, attrs []attribute.KeyValue, depth int) []byte {
	if len(attrs) == 0 {
		return dst
	}
	return closeList(c.keyValues(append(dst, key...), attrs, depth))
}

func (c *jsonCodec) keyValues(dst []byte, attrs []attribute.KeyValue, depth int) []byte {
	for i := range attrs {
		dst = append(dst, `{"key":`...)
		dst = scalar.AppendString(dst, string(attrs[i].Key))
		dst = append(dst, `,"value":`...)
		dst = c.value(dst, attrs[i].Value, depth)
		dst = append(dst, '}', ',')
	}
	return dst
}

func (c *jsonCodec) spanAttributes(dst []byte, attrs []attribute.KeyValue) []byte {
	return c.keyValues(dst, attrs, 0)
}

func (c *jsonCodec) value(dst []byte, v attribute.Value, depth int) []byte {
	switch v.Type() {
	case attribute.STRING:
		return appendJSONString(dst, v.AsString())
	case attribute.BOOL:
		return append(strconv.AppendBool(append(dst, `{"boolValue":`...), v.AsBool()), '}')
	case attribute.INT64:
		return append(strconv.AppendInt(append(dst, `{"intValue":"`...), v.AsInt64(), 10), '"', '}')
	case attribute.FLOAT64:
		c.floats = true
		return appendJSONDouble(dst, v.AsFloat64())
	case attribute.EMPTY:
		return append(dst, `{}`...)
	}
	return c.composite(dst, v, depth)
}

func (c *jsonCodec) composite(dst []byte, v attribute.Value, depth int) []byte {
	if depth > span.MaxValueDepth {
		return append(dst, `{}`...)
	}
	switch v.Type() {
	case attribute.BYTESLICE:
		dst = append(dst, `{"bytesValue":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, v.AsByteSlice())
		return append(dst, `"}`...)
	case attribute.MAP:
		dst = append(dst, `{"kvlistValue":{`...)
		dst = c.attributes(dst, `"values":[`, v.AsMap(), depth+1)
		return append(dst, `}}`...)
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.SLICE:
		dst = append(dst, `{"arrayValue":{"values":[`...)
		span.EachElement(v, func(e attribute.Value) { dst = append(c.value(dst, e, depth+1), ',') })
		return append(closeList(dst), `}}`...)
	}
	return appendJSONString(dst, "INVALID") // a type of a later SDK
}

func appendJSONString(dst []byte, s string) []byte {
	return append(scalar.AppendString(append(dst, `{"stringValue":`...), s), '}')
}

func appendJSONDouble(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return scalar.AppendDouble(dst, v) // has the same form
	}
	return append(scalar.AppendFloat(append(dst, `{"doubleValue":`...), v), '}')
}
