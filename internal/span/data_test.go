package span_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/op"
)

func context(id byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{id}, TraceFlags: trace.FlagsSampled,
	})
}

func stub() tracetest.SpanStub {
	start := time.Unix(1_700_000_000, 5)
	return tracetest.SpanStub{
		Name: "matmul", SpanContext: context(1), Parent: context(2), SpanKind: trace.SpanKindClient,
		StartTime: start, EndTime: start.Add(time.Second),
		Attributes: []attribute.KeyValue{attribute.String(attrkey.Name, "matmul")}, DroppedAttributes: 1,
		Events: []sdktrace.Event{{Name: "e"}}, DroppedEvents: 2,
		Links: []sdktrace.Link{{SpanContext: context(3)}}, DroppedLinks: 3,
		Status:               sdktrace.Status{Code: codes.Error, Description: "boom"},
		Resource:             resource.NewSchemaless(attribute.String("service.name", "s")),
		InstrumentationScope: instrumentation.Scope{Name: "scope", Version: "1"},
	}
}

// A span, the data read from it, and the span made of the data say the same.
func TestSnapshot(t *testing.T) {
	want := stub()
	s := want.Snapshot()
	d := span.ReadAll(s, s.SpanContext(), s.Parent())
	got := tracetest.SpanStubFromReadOnlySpan(span.Snapshot(&d))
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b trace.SpanContext) bool { return a.Equal(b) }),
		cmp.Comparer(func(a, b attribute.Value) bool { return a == b }),
		cmp.Comparer(func(a, b *resource.Resource) bool { return a.Equal(b) }),
		cmp.Comparer(func(a, b instrumentation.Scope) bool { return a == b }),
		cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "InstrumentationLibrary" }, cmp.Ignore())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.Attrs[0] = attribute.String("changed", "")
	if span.Snapshot(&d).Attributes()[0] == got.Attributes[0] {
		t.Error("a snapshot shares the attributes of the data")
	}
	if !d.Failed() || d.SpanID() != (op.SpanID{1}) || d.ParentID() != (op.SpanID{2}) || d.TraceID() != (op.TraceID{1}) {
		t.Errorf("failed %v, ids %v %v %v", d.Failed(), d.TraceID(), d.SpanID(), d.ParentID())
	}
}

func TestEndedReadOnly(t *testing.T) {
	s := stub().Snapshot()
	d := span.Read(s, s.SpanContext(), s.Parent())
	own := span.Snapshot(&d)
	e := span.Ended{Span: own}
	if e.ReadOnly() != own {
		t.Error("another span than the one that ended")
	}
	e = span.Ended{Data: &d}
	made := e.ReadOnly()
	if made.Name() != s.Name() || e.ReadOnly() != made {
		t.Error("the span of an operation without one is not made once")
	}
}

func TestIsLocalRoot(t *testing.T) {
	for _, tt := range []struct {
		parent trace.SpanContext
		want   bool
	}{
		{trace.SpanContext{}, true},
		{context(1).WithRemote(true), true},
		{context(1), false},
	} {
		check.Equal(t, fmt.Sprintf("a span below %v is a local root", tt.parent), tt.want, span.IsLocalRoot(tt.parent))
	}
}

func TestIsOperation(t *testing.T) {
	if !span.IsOperation(nil, []attribute.KeyValue{attribute.String("x", ""), attribute.String(attrkey.Name, "matmul")}) {
		t.Error("a span with an operation's name is none")
	}
	if span.IsOperation(nil, []attribute.KeyValue{attribute.String("http.route", "/")}) {
		t.Error("a request is an operation")
	}
}

func TestEachElement(t *testing.T) {
	for want, v := range map[string]attribute.Value{
		"[true false]": attribute.BoolSliceValue([]bool{true, false}), "[1 2]": attribute.Int64SliceValue([]int64{1, 2}),
		"[0.5]": attribute.Float64SliceValue([]float64{0.5}), "[a b]": attribute.StringSliceValue([]string{"a", "b"}),
		"[7 x]": attribute.SliceValue(attribute.Int64Value(7), attribute.StringValue("x")), "[]": attribute.StringValue("text"),
	} {
		var got []any
		span.EachElement(v, func(e attribute.Value) { got = append(got, e.AsInterface()) })
		check.Equal(t, v.Type().String(), want, fmt.Sprint(got))
	}
}
