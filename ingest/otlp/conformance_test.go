package otlp_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
)

func TestConformanceJSON(t *testing.T) {
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		return single(t, otlp.JSONRecords, []byte(caseJSON(&c.Span)))
	})
}

func TestConformanceProto(t *testing.T) {
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		return single(t, otlp.ProtoRecords, caseProto(&c.Span))
	})
}

// single returns the entry of an input with one span.
func single(t *testing.T, r reader, text []byte) (entry *op.Entry, ok bool) {
	t.Helper()
	for rec, err := range r(bytes.NewReader(text), "case", nil) {
		if err != nil {
			t.Fatalf("%v\n%q", err, text)
		}
		if rec.Entry != nil {
			entry = rec.Entry.Clone()
		}
	}
	return entry, entry != nil
}

func caseJSON(s *optest.Span) string {
	var b strings.Builder
	b.WriteString(`{"resourceSpans":[{`)
	if s.Resource != nil {
		b.WriteString(`"resource":{"attributes":` + attrsJSON(s.Resource) + `},`)
	}
	b.WriteString(`"scopeSpans":[{"scope":{"name":` + quoteJSON(s.Scope) + `},"spans":[{"name":` + quoteJSON(s.Name))
	if !s.TraceID.IsZero() {
		b.WriteString(`,"traceId":"` + s.TraceID.String() + `","spanId":"` + s.SpanID.String() + `"`)
	}
	if !s.ParentSpanID.IsZero() {
		b.WriteString(`,"parentSpanId":"` + hex.EncodeToString(s.ParentSpanID[:]) + `"`)
	}
	b.WriteString(`,"startTimeUnixNano":"` + strconv.FormatInt(s.Start, 10) + `","endTimeUnixNano":` + strconv.FormatInt(s.End, 10))
	b.WriteString(`,"traceState":` + quoteJSON(s.TraceState) + `,"droppedAttributesCount":` + strconv.Itoa(int(s.Dropped)))
	if s.Failed {
		b.WriteString(`,"status":{"message":` + quoteJSON(s.Error) + `,"code":2}`)
	}
	b.WriteString(`,"attributes":` + attrsJSON(s.Attributes))
	if s.Links != nil {
		b.WriteString(`,"links":[` + linksJSON(s.Links) + `]`)
	}
	b.WriteString(`,"droppedLinksCount":` + strconv.Itoa(int(s.DroppedLinks)) + `}]}]}]}`)
	return b.String()
}

func linksJSON(links []optest.Link) string {
	var parts []string
	for _, l := range links {
		parts = append(parts, `{"traceId":"`+l.TraceID.String()+`","spanId":"`+l.SpanID.String()+`","attributes":`+attrsJSON(l.Attributes)+`}`)
	}
	return strings.Join(parts, ",")
}

func attrsJSON(attrs []optest.Attr) string {
	var parts []string
	for _, a := range attrs {
		parts = append(parts, `{"key":`+rawJSON(a.Key)+`,"value":`+valueJSON(a.Value)+`}`)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// rawJSON quotes a string and leaves invalid UTF-8 in it.
func rawJSON(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] < 0x80 {
			quoted := jsontext.AppendString(nil, s[i:i+1])
			b.Write(quoted[1 : len(quoted)-1])
		} else {
			b.WriteByte(s[i])
		}
	}
	return `"` + b.String() + `"`
}

func valueJSON(v any) string {
	var list []string
	switch v := v.(type) {
	case string:
		return `{"stringValue":` + rawJSON(v) + `}`
	case int64:
		return `{"intValue":"` + strconv.FormatInt(v, 10) + `"}`
	case float64:
		switch {
		case math.IsNaN(v):
			return `{"doubleValue":"NaN"}`
		case math.IsInf(v, 0):
			return `{"doubleValue":"` + map[bool]string{true: "Infinity", false: "-Infinity"}[v > 0] + `"}`
		}
		return `{"doubleValue":` + strconv.FormatFloat(v, 'g', -1, 64) + `}`
	case bool:
		return `{"boolValue":` + strconv.FormatBool(v) + `}`
	case optest.Map:
		return `{"kvlistValue":{"values":` + attrsJSON(v) + `}}`
	}
	all, _ := optest.Elements(v)
	for _, e := range all {
		list = append(list, valueJSON(e))
	}
	return `{"arrayValue":{"values":[` + strings.Join(list, ",") + `]}}`
}

func caseProto(s *optest.Span) []byte {
	span := field(5, []byte(s.Name))
	if !s.TraceID.IsZero() {
		span = append(append(span, field(1, s.TraceID[:])...), field(2, s.SpanID[:])...)
	}
	if !s.ParentSpanID.IsZero() {
		span = append(span, field(4, s.ParentSpanID[:])...)
	}
	span = protowire.AppendFixed64(protowire.AppendTag(span, 7, protowire.Fixed64Type), uint64(s.Start))
	span = protowire.AppendFixed64(protowire.AppendTag(span, 8, protowire.Fixed64Type), uint64(s.End))
	span = append(span, field(3, []byte(s.TraceState))...)
	span = protowire.AppendVarint(protowire.AppendTag(span, 10, protowire.VarintType), uint64(s.Dropped))
	if s.Failed {
		status := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 2)
		span = append(span, field(15, append(status, field(2, []byte(s.Error))...))...)
	}
	span = append(span, attrsProto(9, s.Attributes)...)
	for _, l := range s.Links {
		link := append(field(1, l.TraceID[:]), field(2, l.SpanID[:])...)
		span = append(span, field(13, append(link, attrsProto(4, l.Attributes)...))...)
	}
	span = protowire.AppendVarint(protowire.AppendTag(span, 14, protowire.VarintType), uint64(s.DroppedLinks))
	group := field(2, append(field(1, field(1, []byte(s.Scope))), field(2, span)...))
	if s.Resource != nil {
		group = append(group, field(1, attrsProto(1, s.Resource))...)
	}
	return field(1, group)
}

func attrsProto(num protowire.Number, attrs []optest.Attr) (out []byte) {
	for _, a := range attrs {
		out = append(out, field(num, append(field(1, []byte(a.Key)), field(2, valueProto(a.Value))...))...)
	}
	return out
}

func valueProto(v any) []byte {
	switch v := v.(type) {
	case string:
		return field(1, []byte(v))
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), protowire.EncodeBool(v))
	case int64:
		return protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), uint64(v))
	case float64:
		return protowire.AppendFixed64(protowire.AppendTag(nil, 4, protowire.Fixed64Type), math.Float64bits(v))
	case optest.Map:
		return field(6, attrsProto(1, v))
	}
	var list []byte
	all, _ := optest.Elements(v)
	for _, e := range all {
		list = append(list, field(1, valueProto(e))...)
	}
	return field(5, list)
}
