package optrace_test

import (
	"context"
	"io"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// noopProcessor makes the SDK finish spans and discards them.
type noopProcessor struct{}

func (noopProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (noopProcessor) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (noopProcessor) Shutdown(context.Context) error                  { return nil }
func (noopProcessor) ForceFlush(context.Context) error                { return nil }

func noopProvider(tb testing.TB) *sdktrace.TracerProvider {
	tb.Helper()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(noopProcessor{}))
	tb.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	return tp
}

func matmulSpec() optrace.OpSpec {
	return optrace.OpSpec{
		Name: "matmul", Device: "cuda:0", DType: op.F32, Inputs: []op.Shape{{64, 784}, {784, 256}},
		Output: op.Shape{64, 256},
	}
}

func preparedOp(p *optrace.Prepared) {
	_, o := p.Start(context.Background())
	o.End()
}

func dynamicOp(tr *optrace.Tracer, n int64) {
	_, o := tr.Start(context.Background(), "matmul", "cuda:0")
	o.In(n, 784).In(784, 256).Out(n, 256).DType(op.F32).End()
}

// Recording allocates no more than an SDK span with attributes built in advance and set in one call.
func TestRecordingAllocations(t *testing.T) {
	cases.NotUnderRace(t, "pools are emptied at random under the race detector")
	tp := noopProvider(t)
	tracer := tp.Tracer("by hand")
	tr := optrace.NewTracer(tp)
	p := prepare(t, tr, matmulSpec())
	attrs := spantest.Operation(0).Attributes[:5]
	none := context.Background()
	stepped := optrace.ContextWithStep(context.Background(), 7)
	for what, tt := range map[string]struct {
		record func()
		attrs  []attribute.KeyValue // of the SDK's span
		timed  bool
	}{
		"prepared":         {func() { preparedOp(p) }, attrs, false},
		"of a known shape": {func() { dynamicOp(tr, 64) }, attrs, false},
		"prepared, with a step": {func() { _, o := p.Start(stepped); o.End() },
			append(attrs[:5:5], tensorconv.Step(7)), false},
		"recorded after the fact": {func() { p.Record(none, ran) },
			append(attrs[:5:5], tensorconv.LaunchTime(launched)), true},
	} {
		sdk := func() {
			_, span := tracer.Start(none, "matmul")
			span.SetAttributes(tt.attrs...)
			span.End()
		}
		if tt.timed {
			sdk = func() {
				_, span := tracer.Start(none, "matmul", trace.WithTimestamp(time.Unix(0, started)))
				span.SetAttributes(tt.attrs...)
				span.End(trace.WithTimestamp(time.Unix(0, ended)))
			}
		}
		if floor, got := testing.AllocsPerRun(1000, sdk), testing.AllocsPerRun(1000, tt.record); got > floor {
			t.Errorf("an operation %s makes %v allocations, the SDK's span %v", what, got, floor)
		}
	}
}

// Exporting repeated shapes does not allocate per span, in any format.
func TestExportAllocations(t *testing.T) {
	cases.NotUnderRace(t, "the race detector allocates")
	spans := batchOf512(t)
	for _, f := range allFormats {
		exp := newExporter(t, io.Discard, optrace.WithFormat(f))
		for range 20 {
			export(t, exp, spans...) // fill the caches
		}
		if got := testing.AllocsPerRun(50, func() { export(t, exp, spans...) }); got > 4 {
			t.Errorf("%v: a batch of 512 spans makes %v allocations", f, got)
		}
	}
}

// Encoding in OnEnd does not allocate.
func TestProcessorAllocations(t *testing.T) {
	cases.NotUnderRace(t, "pools are emptied at random under the race detector")
	proc := newProcessor(t, newExporter(t, io.Discard))
	defer func() { _ = proc.Shutdown(context.Background()) }()
	span := spantest.Operation(0).Snapshot()
	got := testing.AllocsPerRun(20_000, func() { proc.OnEnd(span) })
	if got >= 1 {
		t.Errorf("OnEnd makes %v allocations", got)
	}
}

// batchOf512 returns snapshots of the SDK, as its batch processor exports them: 40 operations that repeat, with
// separate attribute values.
func batchOf512(tb testing.TB) []sdktrace.ReadOnlySpan {
	tb.Helper()
	kept := &spantest.Exporter{}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	tracer := tp.Tracer("engine")
	ctx, request := tracer.Start(context.Background(), "request")
	for i := range int64(512) {
		_, span := tracer.Start(ctx, "matmul")
		rows := i % 40
		span.SetAttributes(tensorconv.OpName("matmul"), tensorconv.DeviceID("cuda:0"), tensorconv.DType("f32"),
			tensorconv.InputShapes([]int64{rows, 784}, []int64{784, 256}), tensorconv.OutputShape(rows, 256))
		span.End()
	}
	request.End()
	shutdown(tb, tp)
	return kept.Spans()[:512]
}

// A Recorder does not allocate, with any attributes.
func TestRecorderAllocations(t *testing.T) {
	proc := newProcessor(t, newExporter(t, io.Discard))
	shutdown(t, proc)
	rec := proc.Recorder(t.Context())
	for range 1 << 15 { // room for many operations
		rec.Begin("warm", "up").In(1, 1).In(1, 1).Out(1, 1).Attrs(make([]attribute.KeyValue, 7)...).End()
	}
	rec.Finish()
	n := testing.AllocsPerRun(1000, func() { recordMatmul(rec) })
	if n > 0 {
		t.Errorf("%v allocations per operation, want none", n)
	}
	step := int64(0)
	n = testing.AllocsPerRun(1000, func() {
		step++
		rec.Step(step)
		recordMatmul(rec)
		rec.Attrs(tensorconv.DeviceID("cuda:1"), tensorconv.StreamID(7), tensorconv.OpKind(op.KindCompute),
			tensorconv.OpPath("encoder.0"), tensorconv.OpFLOPCount(64*784*256*2),
			tensorconv.CollectiveName("all_reduce"), tensorconv.CollectiveSequence(step))
	})
	if n > 0 {
		t.Errorf("%v allocations per operation with all that can be said of it, want none", n)
	}
	p := prepare(t, optrace.NewTracer(nil), matmulSpec())
	if n = testing.AllocsPerRun(1000, func() { rec.RecordPrepared(p, ran) }); n > 0 {
		t.Errorf("%v allocations per operation that is recorded after the fact, want none", n)
	}
}

func recordMatmul(rec *optrace.Recorder) {
	rec.Begin("matmul", "cuda:0").In(64, 784).In(784, 256).Out(64, 256).DType(op.F32).End()
}

// recording is an open request of a Processor whose Exporter discards its output.
type recording struct {
	ctx      context.Context
	app      trace.Tracer
	prepared *optrace.Prepared
}

func newRecording(b *testing.B, opts ...optrace.ExporterOption) *recording {
	b.Helper()
	proc := newProcessor(b, newExporter(b, io.Discard, opts...))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	app := tp.Tracer("server")
	ctx, request := app.Start(b.Context(), "request")
	b.Cleanup(func() {
		request.End()
		check.OK(b, tp.Shutdown(context.Background()))
	})
	b.ReportAllocs()
	return &recording{ctx, app, prepare(b, optrace.NewTracer(tp), matmulSpec())}
}

// BenchmarkPreparedStartInLayers records three operations below a layer, as OTLP.
func BenchmarkPreparedStartInLayers(b *testing.B) {
	r := newRecording(b, optrace.WithFormat(optrace.FormatOTLPJSON))
	for b.Loop() {
		layer, span := r.app.Start(r.ctx, "layer")
		for range 3 {
			_, o := r.prepared.Start(layer)
			o.End()
		}
		span.End()
	}
}

func BenchmarkExportBatchOf512(b *testing.B) {
	exp := newExporter(b, io.Discard)
	spans := batchOf512(b)
	b.ReportAllocs()
	for b.Loop() {
		export(b, exp, spans...)
	}
}

// BenchmarkServerSpan records a span of a server without operations.
func BenchmarkServerSpan(b *testing.B) {
	attrs := []attribute.KeyValue{
		attribute.String("http.request.method", "POST"), attribute.String("http.route", "/v1/items/{id}"),
		attribute.String("url.path", "/v1/items/123456"), attribute.String("url.scheme", "http"),
		attribute.String("server.address", "items.example.com"), attribute.Int("server.port", 8080),
		attribute.String("client.address", "192.0.2.17"), attribute.String("user_agent.original", "Mozilla/5.0"),
		attribute.String("network.protocol.version", "1.1"), attribute.Int("http.response.status_code", 200),
	}
	r := newRecording(b)
	for b.Loop() {
		_, span := r.app.Start(b.Context(), "POST")
		span.SetAttributes(attrs...)
		span.End()
	}
}
