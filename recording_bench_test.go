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
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// recording holds the parts of a benchmark: an open request, and a Processor with an Exporter that discards its output.
type recording struct {
	ctx      context.Context
	app      trace.Tracer
	tracer   *optrace.Tracer
	prepared *optrace.Prepared
	proc     *optrace.Processor
	now      int64
}

func newRecording(b *testing.B, opts ...optrace.ExporterOption) *recording {
	b.Helper()
	proc := newProcessor(b, newExporter(b, io.Discard, opts...))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	r := &recording{app: tp.Tracer("server"), tracer: optrace.NewTracer(tp), proc: proc, now: time.Now().UnixNano()}
	r.prepared = prepare(b, r.tracer, matmulSpec())
	ctx, request := r.app.Start(b.Context(), "request")
	r.ctx = ctx
	b.Cleanup(func() {
		request.End()
		check.OK(b, tp.Shutdown(context.Background()))
	})
	b.ReportAllocs()
	return r
}

func (r *recording) times() optrace.Times { return optrace.Times{Start: r.now, End: r.now + 1} }

// BenchmarkSDKSpan is the yardstick: an SDK span with the same attributes.
func BenchmarkSDKSpan(b *testing.B) {
	r := newRecording(b)
	attrs := spantest.Operation(0).Attributes[:5]
	for b.Loop() {
		_, span := r.app.Start(r.ctx, "matmul")
		span.SetAttributes(attrs...)
		span.End()
	}
}

func BenchmarkTracerStart(b *testing.B) {
	r := newRecording(b)
	for b.Loop() {
		dynamicOp(r.tracer, 64)
	}
}

func BenchmarkPreparedStart(b *testing.B) {
	r := newRecording(b)
	for b.Loop() {
		_, o := r.prepared.Start(r.ctx)
		o.End()
	}
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

func BenchmarkPreparedRecord(b *testing.B) {
	r := newRecording(b)
	for b.Loop() {
		r.prepared.Record(r.ctx, r.times())
	}
}

func BenchmarkRecorderBegin(b *testing.B) {
	r := newRecording(b)
	rec := r.proc.Recorder(r.ctx)
	for i := 0; b.Loop(); i++ {
		recordMatmul(rec)
		if i%1000 == 0 {
			rec.Finish()
		}
	}
	rec.Finish()
}

func BenchmarkRecorderRecordPrepared(b *testing.B) {
	r := newRecording(b)
	rec := r.proc.Recorder(r.ctx)
	for i := 0; b.Loop(); i++ {
		rec.RecordPrepared(r.prepared, r.times())
		if i%1000 == 0 {
			rec.Finish()
		}
	}
	rec.Finish()
}

func benchmarkQueue(b *testing.B, r *recording, to optrace.Recording) {
	q := newQueue(b, to)
	start := passedAt(r.now)
	end := passedAt(r.now + 1)
	for i := 0; b.Loop(); i++ {
		q.Launched(q.Begin(r.ctx, r.prepared), start, end)
		if i%64 == 0 {
			q.Poll()
		}
	}
	shutdown(b, q)
}

func BenchmarkQueueOfTracer(b *testing.B) {
	r := newRecording(b)
	benchmarkQueue(b, r, r.tracer)
}

func BenchmarkQueueOfProcessor(b *testing.B) {
	r := newRecording(b)
	benchmarkQueue(b, r, r.proc)
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
