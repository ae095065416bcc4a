package stdouttrace_test

import (
	"bytes"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	exporter "go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/ingest/stdouttrace"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
)

// TestConformance prints the spans of the cases with the exporter itself, on
// lines and indented.
func TestConformance(t *testing.T) {
	for name, opts := range map[string][]exporter.Option{"lines": nil, "indented": {exporter.WithPrettyPrint()}} {
		t.Run(name, func(t *testing.T) {
			optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
				if c.Needs.Has(optest.InvalidUTF8) || c.Needs.Has(optest.NonFinite) {
					t.Skip("JSON cannot hold the span")
				}
				var out bytes.Buffer
				exp := check.Must(exporter.New(append(opts, exporter.WithWriter(&out))...))(t)
				span := snapshot(t, c.Span)
				check.OK(t, exp.ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{span}))
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

// snapshot returns the span of a case as the SDK hands it to exporters.
func snapshot(t *testing.T, s optest.Span) sdktrace.ReadOnlySpan {
	t.Helper()
	state, err := trace.ParseTraceState(s.TraceState)
	if err != nil {
		t.Skip("the SDK does not take the trace state:", err)
	}
	context := func(id op.SpanID) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID(s.TraceID), SpanID: trace.SpanID(id), TraceState: state,
		})
	}
	at := func(ns int64) time.Time {
		if ns == 0 {
			return time.Time{}
		}
		return time.Unix(0, ns)
	}
	stub := tracetest.SpanStub{
		Name: s.Name, SpanContext: context(s.SpanID), Parent: context(s.ParentSpanID),
		StartTime: at(s.Start), EndTime: at(s.End),
		Attributes: keyValues(t, s.Attributes), DroppedAttributes: int(s.Dropped), DroppedLinks: int(s.DroppedLinks),
	}
	for _, l := range s.Links {
		stub.Links = append(stub.Links, sdktrace.Link{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(l.TraceID), SpanID: trace.SpanID(l.SpanID)}),
			Attributes:  keyValues(t, l.Attributes),
		})
	}
	stub.InstrumentationScope.Name = s.Scope
	if s.Resource != nil {
		stub.Resource = resource.NewSchemaless(keyValues(t, s.Resource)...)
	}
	if s.Failed {
		stub.Status = sdktrace.Status{Code: codes.Error, Description: s.Error}
	}
	return stub.Snapshot()
}

func keyValues(t *testing.T, attrs []optest.Attr) []attribute.KeyValue {
	t.Helper()
	var all []attribute.KeyValue
	for _, a := range attrs {
		all = append(all, attribute.KeyValue{Key: attribute.Key(a.Key), Value: value(t, a.Value)})
	}
	return all
}

func value(t *testing.T, v any) attribute.Value {
	t.Helper()
	switch v := v.(type) {
	case string:
		return attribute.StringValue(v)
	case bool:
		return attribute.BoolValue(v)
	case int64:
		return attribute.Int64Value(v)
	case float64:
		return attribute.Float64Value(v)
	case []string:
		return attribute.StringSliceValue(v)
	case []bool:
		return attribute.BoolSliceValue(v)
	case []int64:
		return attribute.Int64SliceValue(v)
	case []float64:
		return attribute.Float64SliceValue(v)
	case optest.Map:
		return attribute.MapValue(keyValues(t, v)...)
	case optest.List:
		var list []attribute.Value
		for _, e := range v {
			list = append(list, value(t, e))
		}
		return attribute.SliceValue(list...)
	}
	t.Fatalf("no attribute holds a %T", v)
	return attribute.Value{}
}
