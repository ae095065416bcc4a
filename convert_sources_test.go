package optrace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
)

// richSpans returns an operation and the span above it with all that spans have.
func richSpans() []sdktrace.ReadOnlySpan {
	attrs := []attribute.KeyValue{
		attribute.String("model", "m1"), attribute.Int("batch", 64), attribute.Float64("scale", 4), attribute.Bool("warm", true),
		attribute.Float64Slice("loss", []float64{1, 0.5}), attribute.StringSlice("tags", []string{"a", "b"}),
		attribute.ByteSlice("digest", []byte{0, 1}), attribute.Map("m", attribute.Int("a", 1), attribute.Float64("b", 2)),
		attribute.Slice("mixed", attribute.Int64Value(1), attribute.MapValue(attribute.Bool("x", false))),
	}
	fill := func(s *tracetest.SpanStub) {
		s.Attributes = append(s.Attributes, attrs...)
		s.SpanKind = trace.SpanKindConsumer
		s.Resource = resource.NewSchemaless(append(attrs, attribute.String("service.name", "svc"))...)
		s.InstrumentationScope = instrumentation.Scope{Name: "lib", Version: "1.2", Attributes: attribute.NewSet(attrs[:4]...)}
		s.Events = []sdktrace.Event{
			{Name: "launch", Time: time.Unix(1_700_000_000, 5), Attributes: attrs, DroppedAttributeCount: 1},
			{Name: "done", Time: time.Unix(1_700_000_000, 6)},
		}
		s.Links = []sdktrace.Link{
			{SpanContext: spantest.SpanContext(5, 6), Attributes: append(attrs[:2:2], attribute.Int(op.KeyLinkWeight, 3)), DroppedAttributeCount: 2},
			{SpanContext: spantest.SpanContext(7, 8).WithRemote(true)},
		}
		s.DroppedAttributes, s.DroppedEvents, s.DroppedLinks = 1, 2, 3
		s.Status = sdktrace.Status{Code: codes.Ok}
	}
	o, request := spantest.Operation(0), spantest.Request()
	fill(&o)
	fill(&request)
	request.Status = sdktrace.Status{Code: codes.Error, Description: "boom"}
	return []sdktrace.ReadOnlySpan{o.Snapshot(), request.Snapshot()}
}

// keptRecords returns the records of a file, everything kept, as text.
func keptRecords(t *testing.T, name string, text []byte) (records []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	m := new(op.Mapping)
	m.KeepAll()
	for rec, err := range (ingest.Options{Mapping: m}).Open(path).Records() {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Entry != nil:
			records = append(records, string(rec.Entry.AppendJSON(nil)))
		case rec.Span != nil:
			records = append(records, string(rec.Span.AppendJSON(nil)))
		case rec.Resource != nil:
			records = append(records, string(op.AppendHeader(nil, rec.Resource)))
		}
	}
	return records
}

// The exporter of stdouttrace and that of OTLP say the same about a span.
func TestKeptSpansOfStdouttrace(t *testing.T) {
	var lines, objects bytes.Buffer
	exp := newExporter(t, &lines, optrace.WithFormat(optrace.FormatOTLPJSON))
	export(t, exp, richSpans()...)
	std, err := stdouttrace.New(stdouttrace.WithWriter(&objects))
	if err != nil {
		t.Fatal(err)
	}
	if err := std.ExportSpans(t.Context(), richSpans()); err != nil {
		t.Fatal(err)
	}
	want := keptRecords(t, "ops.otlp.jsonl", lines.Bytes())
	if len(want) != 3 {
		t.Fatalf("records are %q", want)
	}
	if diff := cmp.Diff(want, keptRecords(t, "spans.jsonl", objects.Bytes())); diff != "" {
		t.Errorf("(-OTLP +stdouttrace):\n%s", diff)
	}
}
