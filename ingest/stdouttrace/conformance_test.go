package stdouttrace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	exporter "go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/ingest/stdouttrace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
)

// TestConformance prints the cases with the exporter, on lines and indented.
func TestConformance(t *testing.T) {
	for name, opts := range map[string][]exporter.Option{"lines": nil, "indented": {exporter.WithPrettyPrint()}} {
		t.Run(name, func(t *testing.T) {
			optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
				if c.Has("InvalidUTF8", "NonFinite") {
					t.Skip("JSON cannot hold the span")
				}
				var out bytes.Buffer
				exp := check.Must(exporter.New(append(opts, exporter.WithWriter(&out))...))(t)
				check.OK(t, exp.ExportSpans(t.Context(), tracetest.SpanStubs{c.Stub(t)}.Snapshots()))
				for rec, err := range stdouttrace.Records(&out, "output", nil) {
					check.OK(t, err)
					if rec.Entry != nil {
						return rec.Entry.Clone(), true
					}
				}
				return nil, false
			})
		})
	}
}

// lost lists the fields missing in Python's output: times are microseconds, attributes an object without counts of the
// dropped ones.
var lost = []string{"Nanoseconds", "Duplicates", "NonFinite", "InvalidUTF8", "NoIDs", "Dropped"}

// TestConformanceOfPython prints the cases as Python does. It prints no scope.
func TestConformanceOfPython(t *testing.T) {
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		if c.Has(lost...) {
			t.Skip("Python's output cannot hold the span")
		}
		for rec, err := range stdouttrace.Records(strings.NewReader(python(t, c)), "output", nil) {
			check.OK(t, err)
			if rec.Entry != nil {
				e := rec.Entry.Clone()
				e.Warn &^= op.WarnMicroseconds // the mark on all entries
				e.Scope = c.Span.InstrumentationScope.Name
				return e, true
			}
		}
		return nil, false
	})
}

// python returns a span as Python's ConsoleSpanExporter prints it.
func python(t *testing.T, c optest.Case) string {
	t.Helper()
	type object = map[string]any
	// Attributes keep their order.
	attrs := func(list []attribute.KeyValue) json.RawMessage {
		var members []string
		for _, a := range list {
			value := a.Value.String()
			switch {
			case a.Value.Type() == attribute.STRING:
				value = string(check.Must(json.Marshal(value))(t))
			case a.Value.Type() == attribute.FLOAT64 && !strings.ContainsAny(value, ".e"):
				value += ".0"
			}
			members = append(members, fmt.Sprintf("%s: %s", check.Must(json.Marshal(a.Key))(t), value))
		}
		return json.RawMessage("{" + strings.Join(members, ", ") + "}")
	}
	context := func(s trace.SpanContext, state string) object {
		return object{"trace_id": "0x" + s.TraceID().String(), "span_id": "0x" + s.SpanID().String(),
			"trace_state": state}
	}
	at := func(at time.Time) any {
		if at.IsZero() {
			return nil
		}
		return at.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	state := "[]"
	if c.TraceState != "" {
		var pairs []string
		for pair := range strings.SplitSeq(c.TraceState, ",") {
			key, value, _ := strings.Cut(pair, "=")
			pairs = append(pairs, "'{key="+key+", value="+value+"}'")
		}
		state = "[" + strings.Join(pairs, ", ") + "]"
	}
	s := c.Span
	span := object{
		"name": s.Name, "context": context(s.SpanContext, state), "kind": "SpanKind.SERVER", "parent_id": nil,
		"start_time": at(s.StartTime), "end_time": at(s.EndTime), "status": object{"status_code": "UNSET"},
		"attributes": attrs(s.Attributes), "events": []any{}, "resource": object{
			"attributes": attrs(s.Resource.Attributes()), "schema_url": ""},
	}
	if s.Parent.HasSpanID() {
		span["parent_id"] = "0x" + s.Parent.SpanID().String()
	}
	if s.Status.Code == codes.Error {
		span["status"] = object{"status_code": "ERROR", "description": s.Status.Description}
	}
	var links []any
	for _, l := range s.Links {
		links = append(links, object{"context": context(l.SpanContext, "[]"), "attributes": attrs(l.Attributes)})
	}
	span["links"] = links
	return string(check.Must(json.MarshalIndent(span, "", "    "))(t))
}
