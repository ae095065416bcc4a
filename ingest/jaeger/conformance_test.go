package jaeger_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
)

// lost lists the fields missing in API version 1: it floors times, fails on numbers that are not finite, and has no
// spans without ids, times or a process.
var lost = []string{"Nanoseconds", "NonFinite", "InvalidUTF8", "EndBeforeStart", "NoTime", "NoIDs", "NoResource",
	"LinkAttributes"}

func TestConformance(t *testing.T) {
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		if c.Has(lost...) {
			t.Skip("API version 1 cannot hold the span")
		}
		for rec, err := range jaeger.Records(strings.NewReader(encode(t, c)), "answer", nil) {
			check.OK(t, err)
			if rec.Entry != nil {
				e := rec.Entry.Clone()
				if c.Want != nil && c.Want.Warn&op.WarnMicroseconds == 0 {
					e.Warn &^= op.WarnMicroseconds // the mark on all entries
				}
				return e, true
			}
		}
		return nil, false
	})
}

// encode returns Jaeger's answer for a span.
func encode(t *testing.T, c optest.Case) string {
	t.Helper()
	s := c.Span
	tags := tagsOf(s.Attributes)
	add := func(key, kind string, value any) {
		tags = append(tags, map[string]any{"key": key, "type": kind, "value": value})
	}
	if s.InstrumentationScope.Name != "" {
		add("otel.scope.name", "string", s.InstrumentationScope.Name)
	}
	if s.Status.Code == codes.Error {
		add("error", "bool", true)
		add("otel.status_code", "string", "ERROR")
		add("otel.status_description", "string", s.Status.Description)
	}
	if c.TraceState != "" {
		add("w3c.tracestate", "string", c.TraceState)
	}
	if s.DroppedAttributes > 0 {
		add("otel.dropped_attributes_count", "int64", s.DroppedAttributes)
	}
	if s.DroppedLinks > 0 {
		add("otel.dropped_links_count", "int64", s.DroppedLinks)
	}
	service := "missing-service-name"
	resource := s.Resource.Attributes()
	if name, ok := s.Resource.Set().Value(attrkey.ServiceName); ok {
		service = name.AsString()
		resource = slices.DeleteFunc(resource, func(a attribute.KeyValue) bool { return a.Key == attrkey.ServiceName })
	}
	span := map[string]any{
		"traceID": s.SpanContext.TraceID(), "spanID": s.SpanContext.SpanID(), "operationName": s.Name,
		"processID": "p1", "tags": tags,
		"startTime": s.StartTime.UnixMicro(), "duration": s.EndTime.Sub(s.StartTime).Microseconds(),
	}
	var references []any
	refer := func(kind string, to trace.SpanContext) {
		references = append(references, map[string]any{"refType": kind, "traceID": to.TraceID(), "spanID": to.SpanID()})
	}
	for _, l := range s.Links {
		refer("FOLLOWS_FROM", l.SpanContext)
	}
	if s.Parent.HasSpanID() {
		refer("CHILD_OF", s.Parent)
	}
	span["references"] = references
	text := check.Must(json.Marshal(map[string]any{"data": []any{map[string]any{
		"spans":     []any{span},
		"processes": map[string]any{"p1": map[string]any{"serviceName": service, "tags": tagsOf(resource)}},
	}}}))(t)
	return string(text)
}

func tagsOf(attrs []attribute.KeyValue) []any {
	tags := []any{}
	for _, a := range attrs {
		kind := "string"
		value := any(a.Value.String()) // lists and maps become text
		switch a.Value.Type() {
		case attribute.BOOL:
			kind = "bool"
			value = a.Value.AsBool()
		case attribute.FLOAT64:
			kind = "float64"
			value = a.Value.AsFloat64()
		case attribute.INT64:
			kind = "int64"
			if const53 := int64(1)<<53 - 1; a.Value.AsInt64() <= const53 && a.Value.AsInt64() >= -const53 {
				value = a.Value.AsInt64()
			}
		}
		tags = append(tags, map[string]any{"key": a.Key, "type": kind, "value": value})
	}
	return tags
}
