package spantest

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
)

// Case returns the span of a conformance case as a span of the SDK. It skips the test if the SDK rejects
// the trace state.
func Case(t *testing.T, s optest.Span) tracetest.SpanStub {
	t.Helper()
	state, err := trace.ParseTraceState(s.TraceState)
	if err != nil {
		t.Skipf("the SDK does not take the trace state: %v", err)
	}
	context := func(traceID op.TraceID, id op.SpanID) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(traceID), SpanID: trace.SpanID(id)})
	}
	stub := tracetest.SpanStub{
		Name: s.Name, SpanContext: context(s.TraceID, s.SpanID).WithTraceState(state),
		Parent:    context(s.TraceID, s.ParentSpanID),
		StartTime: timeOf(s.Start), EndTime: timeOf(s.End),
		Attributes: keyValues(t, s.Attributes), DroppedAttributes: int(s.Dropped), DroppedLinks: int(s.DroppedLinks),
	}
	for _, l := range s.Links {
		stub.Links = append(stub.Links, sdktrace.Link{SpanContext: context(l.TraceID, l.SpanID),
			Attributes: keyValues(t, l.Attributes)})
	}
	stub.InstrumentationScope.Name = s.Scope
	if s.Resource != nil {
		stub.Resource = resource.NewSchemaless(keyValues(t, s.Resource)...)
	}
	if s.Failed {
		stub.Status = sdktrace.Status{Code: codes.Error, Description: s.Error}
	}
	return stub
}

// timeOf returns Unix nanoseconds as a time; 0 is the zero time.
func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func keyValues(t *testing.T, attrs []optest.Attr) []attribute.KeyValue {
	t.Helper()
	all := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		all[i] = attribute.KeyValue{Key: attribute.Key(a.Key), Value: valueOf(t, a.Value)}
	}
	return all
}

func valueOf(t *testing.T, v any) attribute.Value {
	t.Helper()
	switch v := v.(type) {
	case string:
		return attribute.StringValue(v)
	case int64:
		return attribute.Int64Value(v)
	case float64:
		return attribute.Float64Value(v)
	case bool:
		return attribute.BoolValue(v)
	case []string:
		return attribute.StringSliceValue(v)
	case []int64:
		return attribute.Int64SliceValue(v)
	case []float64:
		return attribute.Float64SliceValue(v)
	case []bool:
		return attribute.BoolSliceValue(v)
	case optest.List:
		values := make([]attribute.Value, len(v))
		for i, e := range v {
			values[i] = valueOf(t, e)
		}
		return attribute.SliceValue(values...)
	case optest.Map:
		return attribute.MapValue(keyValues(t, v)...)
	}
	t.Fatalf("no attribute value for a %T", v)
	return attribute.Value{}
}
