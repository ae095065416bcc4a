package optrace_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// A step that runs for two requests is recorded with its links in every format, and
// so are the requests, whose traces hold no operations.
func TestLinksAreRecorded(t *testing.T) {
	for _, o := range outputs() {
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(newProcessor(t, newFile(t, path, o.fileOptions()...))))
		tracer := tp.Tracer("engine")
		var requests []trace.Span
		var links []trace.Link
		var want []op.Link
		for i := range int64(2) {
			_, r := tracer.Start(t.Context(), "POST /generate")
			requests = append(requests, r)
			links = append(links, trace.Link{SpanContext: r.SpanContext(), Attributes: []attribute.KeyValue{
				attribute.String("queue", "fast"), attribute.Int64(op.KeyLinkWeight, 10+i),
			}})
			want = append(want, op.Link{
				TraceID: op.TraceID(r.SpanContext().TraceID()), SpanID: op.SpanID(r.SpanContext().SpanID()), Weight: op.Known(10 + i),
			})
		}
		ctx, step := tracer.Start(t.Context(), "step", trace.WithLinks(links...))
		record(ctx, tp, 2)
		_, linked := tracer.Start(ctx, "gather", trace.WithLinks(links[0]), trace.WithAttributes(attribute.String(op.KeyName, "gather")))
		linked.End()
		step.End()
		for _, r := range requests {
			r.End()
		}
		_, idle := tracer.Start(t.Context(), "GET /healthz")
		idle.End()
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}

		got := make(map[string][]op.Link)
		names := make(map[string]int)
		for rec, err := range ingest.Open(path).Records() {
			switch {
			case err != nil:
				t.Fatalf("%v: %v", o, err)
			case rec.Entry != nil:
				names[rec.Entry.Operation]++
				got[rec.Entry.Operation] = rec.Entry.Clone().Links
			case rec.Span != nil:
				names[rec.Span.Name]++
				got[rec.Span.Name] = rec.Span.Clone().Links
			}
		}
		if diff := cmp.Diff(map[string]int{"POST /generate": 2, "step": 1, "matmul": 2, "gather": 1}, names); diff != "" {
			t.Errorf("%v: records (-want +got):\n%s", o, diff)
		}
		if diff := cmp.Diff(map[string][]op.Link{"POST /generate": nil, "step": want, "matmul": nil, "gather": want[:1]}, got); diff != "" {
			t.Errorf("%v: links (-want +got):\n%s", o, diff)
		}
	}
}

// What the SDK's limits dropped shows.
func TestDroppedLinks(t *testing.T) {
	limits := sdktrace.NewSpanLimits()
	limits.LinkCountLimit = 1
	for _, o := range outputs() {
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		tp := sdktrace.NewTracerProvider(sdktrace.WithRawSpanLimits(limits),
			sdktrace.WithSpanProcessor(newProcessor(t, newFile(t, path, o.fileOptions()...))))
		_, a := tp.Tracer("engine").Start(t.Context(), "a")
		link := trace.Link{SpanContext: a.SpanContext()}
		_, s := optrace.NewTracer(tp).Start(t.Context(), "gather", "cpu")
		s.Span().AddLink(link)
		s.Span().AddLink(link)
		s.End()
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		for rec, err := range ingest.Open(path).Records() {
			if err != nil {
				t.Fatalf("%v: %v", o, err)
			}
			if e := rec.Entry; e != nil && (len(e.Links) != 1 || e.Warn&op.WarnDroppedLinks == 0) {
				t.Errorf("%v: links %v, warnings %q", o, e.Links, e.Warn)
			}
		}
	}
}
