package optrace_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/optest"
)

// The SDK's spans mean what those of all other sources mean. The entries come
// from the converter itself: what is written leaves out what readers infer.
func TestConformance(t *testing.T) {
	conv := optrace.NewConverter(nil)
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		t.Helper()
		return conv.Entry(sdkStub(t, c.Span).Snapshot())
	})
}

// sdkStub returns a span of a conformance case as the SDK has it.
func sdkStub(t *testing.T, s optest.Span) tracetest.SpanStub {
	t.Helper()
	state, err := trace.ParseTraceState(s.TraceState)
	if err != nil {
		t.Skipf("the SDK does not take the trace state: %v", err)
	}
	stub := tracetest.SpanStub{
		Name: s.Name,
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID(s.TraceID), SpanID: trace.SpanID(s.SpanID), TraceState: state,
		}),
		Parent:            trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(s.TraceID), SpanID: trace.SpanID(s.ParentSpanID)}),
		StartTime:         sdkTime(s.Start),
		EndTime:           sdkTime(s.End),
		Attributes:        sdkAttributes(t, s.Attributes),
		DroppedAttributes: int(s.Dropped),
		DroppedLinks:      int(s.DroppedLinks),
	}
	for _, l := range s.Links {
		stub.Links = append(stub.Links, sdktrace.Link{
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(l.TraceID), SpanID: trace.SpanID(l.SpanID)}),
			Attributes:  sdkAttributes(t, l.Attributes),
		})
	}
	stub.InstrumentationScope.Name = s.Scope
	if s.Resource != nil {
		stub.Resource = resource.NewSchemaless(sdkAttributes(t, s.Resource)...)
	}
	if s.Failed {
		stub.Status = sdktrace.Status{Code: codes.Error, Description: s.Error}
	}
	return stub
}

func sdkTime(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func sdkAttributes(t *testing.T, attrs []optest.Attr) []attribute.KeyValue {
	t.Helper()
	out := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		out[i] = attribute.KeyValue{Key: attribute.Key(a.Key), Value: sdkValue(t, a.Value)}
	}
	return out
}

func sdkValue(t *testing.T, v any) attribute.Value {
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
			values[i] = sdkValue(t, e)
		}
		return attribute.SliceValue(values...)
	case optest.Map:
		return attribute.MapValue(sdkAttributes(t, v)...)
	}
	t.Fatalf("no attribute value for a %T", v)
	return attribute.Value{}
}
