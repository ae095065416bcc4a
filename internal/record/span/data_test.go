package span_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
)

// A span, the data read from it, and the span made of the data say the same.
func TestSnapshot(t *testing.T) {
	want := spantest.Operation(1)
	want.SpanKind = trace.SpanKindClient
	want.Status = sdktrace.Status{Code: codes.Error, Description: "boom"}
	want.Events = []sdktrace.Event{{Name: "e"}}
	want.Links = []sdktrace.Link{{SpanContext: spantest.SpanContext(0, 3)}}
	want.DroppedAttributes = 1
	want.DroppedEvents = 2
	want.DroppedLinks = 3
	s := want.Snapshot()
	d := span.ReadAll(s, s.SpanContext(), s.Parent())
	got := tracetest.SpanStubFromReadOnlySpan(span.Snapshot(&d))
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b trace.SpanContext) bool { return a.Equal(b) }),
		cmp.Comparer(func(a, b attribute.Value) bool { return a == b }),
		cmp.Comparer(func(a, b *resource.Resource) bool { return a.Equal(b) }),
		cmp.Comparer(func(a, b instrumentation.Scope) bool { return a == b }),
		cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "InstrumentationLibrary" },
			cmp.Ignore())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.Attrs[0] = attribute.String("changed", "")
	if span.Snapshot(&d).Attributes()[0] == got.Attributes[0] {
		t.Error("a snapshot shares the attributes of the data")
	}
	if !d.Failed() || d.SpanID() != op.SpanID(want.SpanContext.SpanID()) ||
		d.ParentID() != op.SpanID(want.Parent.SpanID()) || d.TraceID() != op.TraceID(want.SpanContext.TraceID()) {
		t.Errorf("failed %v, ids %v %v %v", d.Failed(), d.TraceID(), d.SpanID(), d.ParentID())
	}
}

// A snapshot has all exported methods of a span: it embeds a nil span for the unexported one.
func TestSnapshotHasAllMethods(*testing.T) {
	s := reflect.ValueOf(span.Snapshot(&span.Data{}))
	for m := range reflect.TypeFor[sdktrace.ReadOnlySpan]().Methods() {
		if m.IsExported() {
			s.MethodByName(m.Name).Call(nil) // of the nil span it panics
		}
	}
}
