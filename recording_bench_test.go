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

// requestAttributes are those of the span of a server's request.
var requestAttributes = []attribute.KeyValue{
	attribute.String("http.request.method", "POST"), attribute.String("http.route", "/v1/items/{id}"),
	attribute.String("url.path", "/v1/items/123456"), attribute.String("url.scheme", "http"),
	attribute.String("server.address", "items.example.com"), attribute.Int("server.port", 8080),
	attribute.String("client.address", "192.0.2.17"), attribute.String("user_agent.original", "Mozilla/5.0 (X11; Linux)"),
	attribute.String("network.protocol.version", "1.1"), attribute.Int("http.response.status_code", 200),
}

func benchProvider(b *testing.B, opts ...optrace.ExporterOption) (*sdktrace.TracerProvider, *optrace.Processor) {
	exp := check.Must(optrace.NewExporter(io.Discard, opts...))(b)
	proc := check.Must(optrace.NewProcessor(exp))(b)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc))
	b.Cleanup(func() { check.OK(b, tp.Shutdown(context.Background())) })
	return tp, proc
}

// The spans of a server without operations: ending one, and all that one costs.
func BenchmarkPlainSpan(b *testing.B) {
	for _, f := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON} {
		tp, proc := benchProvider(b, optrace.WithFormat(f))
		collected := &spantest.Exporter{}
		other := sdktrace.NewTracerProvider(sdktrace.WithSyncer(collected))
		const many = 1 << 14
		for range many {
			_, s := other.Tracer("server").Start(b.Context(), "POST", trace.WithAttributes(requestAttributes...))
			s.End()
		}
		spans := collected.Stubs().Snapshots()
		b.Run(f.String()+"/OnEnd", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				proc.OnEnd(spans[i%many])
			}
		})
		b.Run(f.String()+"/Whole", func(b *testing.B) {
			b.ReportAllocs()
			tracer := tp.Tracer("server")
			for b.Loop() {
				_, s := tracer.Start(b.Context(), "POST")
				s.SetAttributes(requestAttributes...)
				s.End()
			}
		})
	}
}

// Operations below a request, and below layers of which each has three.
func BenchmarkOperation(b *testing.B) {
	for _, f := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON} {
		tp, proc := benchProvider(b, optrace.WithFormat(f))
		spans := tp.Tracer("server")
		spec := optrace.OpSpec{Name: "matmul", Device: "cuda:0"}
		prepared := check.Must(optrace.NewTracer(tp).Prepare(spec))(b)
		for range 100 { // some that ended
			_, s := spans.Start(b.Context(), "GET")
			s.End()
		}
		ctx, request := spans.Start(b.Context(), "request")
		b.Run(f.String()+"/Prepared.Start", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, o := prepared.Start(ctx)
				o.End()
			}
		})
		b.Run(f.String()+"/Layers", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				layer, s := spans.Start(ctx, "layer")
				for range 3 {
					_, o := prepared.Start(layer)
					o.End()
				}
				s.End()
			}
		})
		b.Run(f.String()+"/Recorder", func(b *testing.B) {
			b.ReportAllocs()
			rec := proc.Recorder(ctx)
			now := time.Now().UnixNano()
			for i := 0; b.Loop(); i++ {
				rec.RecordPrepared(prepared, optrace.Times{Start: now, End: now + 1})
				if i%1000 == 0 {
					rec.Finish()
				}
			}
			rec.Finish()
		})
		request.End()
	}
}
