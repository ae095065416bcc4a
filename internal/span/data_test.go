package span_test

import (
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
