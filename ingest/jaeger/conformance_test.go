package jaeger_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
)

// lost lists the fields missing in API version 1: it floors times, fails on numbers that are not finite, and has no
// spans without ids, times or a process.
const lost = optest.Nanoseconds | optest.NonFinite | optest.InvalidUTF8 | optest.EndBeforeStart |
	optest.NoTime | optest.NoIDs | optest.NoResource | optest.LinkAttributes

func TestConformance(t *testing.T) {
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		if c.Needs&lost != 0 {
			t.Skip("API version 1 cannot hold the span")
		}
		for rec, err := range jaeger.Records(strings.NewReader(encode(t, c.Span)), "answer", nil) {
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
func encode(t *testing.T, s optest.Span) string {
	t.Helper()
	tags := tagsOf(t, s.Attributes)
	add := func(key, kind string, value any) {
		tags = append(tags, map[string]any{"key": key, "type": kind, "value": value})
	}
	if s.Scope != "" {
		add("otel.scope.name", "string", s.Scope)
	}
	if s.Failed {
		add("error", "bool", true)
		add("otel.status_code", "string", "ERROR")
		add("otel.status_description", "string", s.Error)
	}
	if s.TraceState != "" {
		add("w3c.tracestate", "string", s.TraceState)
	}
	if s.Dropped > 0 {
		add("otel.dropped_attributes_count", "int64", s.Dropped)
	}
	if s.DroppedLinks > 0 {
		add("otel.dropped_links_count", "int64", s.DroppedLinks)
	}
	service := "missing-service-name"
	var resource []optest.Attr
	for _, a := range s.Resource {
		if a.Key == attrkey.ServiceName {
			service = a.Value.(string)
		} else {
			resource = append(resource, a)
		}
	}
	span := map[string]any{
		"traceID": s.TraceID.String(), "spanID": s.SpanID.String(), "operationName": s.Name, "processID": "p1",
		"startTime": s.Start / 1000, "duration": (s.End - s.Start) / 1000, "tags": tags,
	}
	var references []any
	refer := func(kind string, trace op.TraceID, id op.SpanID) {
		references = append(references, map[string]any{"refType": kind, "traceID": trace.String(),
			"spanID": id.String()})
	}
	for _, l := range s.Links {
		refer("FOLLOWS_FROM", l.TraceID, l.SpanID)
	}
	if !s.ParentSpanID.IsZero() {
		refer("CHILD_OF", s.TraceID, s.ParentSpanID)
	}
	span["references"] = references
	text := check.Must(json.Marshal(map[string]any{"data": []any{map[string]any{
		"spans":     []any{span},
		"processes": map[string]any{"p1": map[string]any{"serviceName": service, "tags": tagsOf(t, resource)}},
	}}}))(t)
	return string(text)
}

func tagsOf(t *testing.T, attrs []optest.Attr) []any {
	t.Helper()
	tags := []any{}
	for _, a := range attrs {
		tag := map[string]any{"key": a.Key}
		switch v := a.Value.(type) {
		case string:
			tag["type"] = "string"
			tag["value"] = v
		case bool:
			tag["type"] = "bool"
			tag["value"] = v
		case float64:
			tag["type"] = "float64"
			tag["value"] = v
		case int64:
			tag["type"] = "int64"
			tag["value"] = v
			if const53 := int64(1)<<53 - 1; v > const53 || v < -const53 {
				tag["value"] = strconv.FormatInt(v, 10)
			}
		default: // lists and maps become text
			text := check.Must(json.Marshal(v))(t)
			tag["type"] = "string"
			tag["value"] = string(text)
		}
		tags = append(tags, tag)
	}
	return tags
}
