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
