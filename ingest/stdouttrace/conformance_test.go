package stdouttrace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	exporter "go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

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
const lost = optest.Nanoseconds | optest.Duplicates | optest.NonFinite | optest.InvalidUTF8 | optest.NoIDs | optest.Dropped

// TestConformanceOfPython prints the cases as Python does. It prints no scope.
func TestConformanceOfPython(t *testing.T) {
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		if c.Needs&lost != 0 {
			t.Skip("Python's output cannot hold the span")
		}
		for rec, err := range stdouttrace.Records(strings.NewReader(python(t, c.Span)), "output", nil) {
			check.OK(t, err)
			if rec.Entry != nil {
				e := rec.Entry.Clone()
				e.Warn &^= op.WarnMicroseconds // the mark on all entries
				e.Scope = c.Span.Scope
				return e, true
			}
		}
		return nil, false
	})
}

// python returns a span as Python's ConsoleSpanExporter prints it.
func python(t *testing.T, s optest.Span) string {
	t.Helper()
	type object = map[string]any
	// Attributes keep their order.
	attrs := func(list []optest.Attr) json.RawMessage {
		var members []string
		for _, a := range list {
			key := check.Must(json.Marshal(a.Key))(t)
			value := check.Must(json.Marshal(a.Value))(t)
			if _, ok := a.Value.(float64); ok && !bytes.ContainsAny(value, ".e") {
				value = append(value, ".0"...)
			}
			members = append(members, fmt.Sprintf("%s: %s", key, value))
		}
		return json.RawMessage("{" + strings.Join(members, ", ") + "}")
	}
	context := func(trace op.TraceID, id op.SpanID, state string) object {
		return object{"trace_id": "0x" + trace.String(), "span_id": "0x" + id.String(), "trace_state": state}
	}
	at := func(ns int64) any {
		if ns == 0 {
			return nil
		}
		return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	state := "[]"
	if s.TraceState != "" {
		var pairs []string
		for pair := range strings.SplitSeq(s.TraceState, ",") {
			key, value, _ := strings.Cut(pair, "=")
			pairs = append(pairs, "'{key="+key+", value="+value+"}'")
		}
		state = "[" + strings.Join(pairs, ", ") + "]"
	}
	span := object{
		"name": s.Name, "context": context(s.TraceID, s.SpanID, state), "kind": "SpanKind.SERVER", "parent_id": nil,
		"start_time": at(s.Start), "end_time": at(s.End), "status": object{"status_code": "UNSET"},
		"attributes": attrs(s.Attributes), "events": []any{}, "resource": object{"attributes": attrs(s.Resource),
			"schema_url": ""},
	}
	if !s.ParentSpanID.IsZero() {
		span["parent_id"] = "0x" + s.ParentSpanID.String()
	}
	if s.Failed {
		span["status"] = object{"status_code": "ERROR", "description": s.Error}
	}
	var links []any
	for _, l := range s.Links {
		links = append(links, object{"context": context(l.TraceID, l.SpanID, "[]"), "attributes": attrs(l.Attributes)})
	}
	span["links"] = links
	return string(check.Must(json.MarshalIndent(span, "", "    "))(t))
}
