package jaeger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// TestGolden reads answers of Jaeger 1.76 and 2.20 to the same requests.
func TestGolden(t *testing.T) { recordtest.Golden(t, ".json", jaeger.Records) }

// answer puts spans into an answer, with their processes behind them.
func answer(spans string) string {
	return `{"data":[{"traceID":"0af7651916cd43dd8448eb211c80319c","spans":[` + spans +
		`],"processes":{"p1":{"serviceName":"api","tags":[{"key":"tensor.rank","type":"int64","value":3},` +
		`{"key":"host","type":"string",` +
		`"value":"h"}]},"p2":{"serviceName":"missing-service-name"}},"warnings":null}],"errors":null}`
}

const ids = `"traceID":"0af7651916cd43dd8448eb211c80319c","spanID":"00f067aa0ba902b7","processID":"p1"`

func TestRecords(t *testing.T) { recordtest.Cases(t, jaeger.Records) }

func TestErrorAnswers(t *testing.T) {
	golden.Lines(t, "testdata/errors.txt", func(text string) string {
		var messages []string
		for _, err := range jaeger.Records(strings.NewReader(text), "answer", nil) {
			server, ok := errors.AsType[*jaeger.ServerError](err)
			check.Equal(t, text+": an error of the server", true, ok)
			messages = append(messages, server.Message)
		}
		return strings.Join(messages, ", ")
	})
}

func TestRecordsEnd(t *testing.T) {
	recordtest.Ends(t, jaeger.Records, string(check.Must(os.ReadFile("testdata/v2.20.search.json"))(t)),
		answer(`7,{`+ids+`}`), `{"data":[{"processes":[],"spans":[7,{}]}]}`, answer(`{}`)[:80])
}

// FuzzRecords checks that no input makes the reader panic, and that entries are valid and survive JSON Lines.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(answer(`{` + ids + `,"references":[{"refType":"CHILD_OF"}],"tags":[{"key":"op","value":"x"},` +
		`{"key":"output_shape","value":"[2,3]"},{"key":"error","value":true}]}`)))
	f.Add([]byte(`{"data":null,"errors":[{"msg":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		recordtest.Check(t, jaeger.Records(bytes.NewReader(text), "fuzz", nil))
	})
}

func BenchmarkReadJaeger(b *testing.B) {
	one := check.Must(os.ReadFile(filepath.Join("testdata", "v2.20.search.json")))(b)
	const answers = 100
	text := bytes.Repeat(one, answers)
	recordtest.Benchmark(b, text, 21*answers, jaeger.Records)
}

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
