package optrace_test

import (
	"context"
	"io"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/tensorconv"
)

// BenchmarkRecord is the cost of one operation to the application, in front of
// a processor that does nothing.
func BenchmarkRecord(b *testing.B) {
	tp := noopProvider(b)
	tr := optrace.NewTracer(tp)
	p, err := tr.Prepare(matmulSpec())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("sdk", func(b *testing.B) {
		tracer, attrs := tp.Tracer("by hand"), spantest.Operation(0).Attributes[:5]
		b.ReportAllocs()
		for b.Loop() {
			sdkSpan(tracer, attrs)
		}
	})
	b.Run("prepared", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			preparedOp(p)
		}
	})
	b.Run("dynamic", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dynamicOp(tr, 64)
		}
	})
	b.Run("dynamic, 512 shapes", func(b *testing.B) {
		b.ReportAllocs()
		n := int64(0)
		for b.Loop() {
			n++
			dynamicOp(tr, n%512)
		}
	})
}

// batchOf512 returns snapshots of the SDK, as its batch processor exports them:
// 40 operations that repeat, with attribute values of their own.
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
	if err := tp.Shutdown(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return kept.Spans()[:512]
}

// BenchmarkExportEntries is the cost of a batch of 512 spans, beside the SDK's own
// exporter of lines.
func BenchmarkExportEntries(b *testing.B) {
	spans := batchOf512(b)
	ours, err := optrace.NewExporter(io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	theirs, err := stdouttrace.New(stdouttrace.WithWriter(io.Discard))
	if err != nil {
		b.Fatal(err)
	}
	for _, bm := range []struct {
		name string
		exp  sdktrace.SpanExporter
	}{{"optrace", ours}, {"stdouttrace", theirs}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := context.Background()
			for b.Loop() {
				if err := bm.exp.ExportSpans(ctx, spans); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(spans)), "ns/span")
		})
	}
}

// BenchmarkOnEnd is the cost of an operation's end in the processor, from one
// and from all processors of the machine.
func BenchmarkOnEnd(b *testing.B) {
	spans := batchOf512(b)
	newProc := func(b *testing.B) *optrace.Processor {
		proc := newProcessor(b, newExporter(b, io.Discard), optrace.WithFlushInterval(time.Second))
		b.Cleanup(func() { _ = proc.Shutdown(context.Background()) })
		return proc
	}
	b.Run("serial", func(b *testing.B) {
		proc := newProc(b)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			proc.OnEnd(spans[i%512])
		}
	})
	b.Run("parallel", func(b *testing.B) {
		proc := newProc(b)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			i := 0
			for pb.Next() {
				i++
				proc.OnEnd(spans[i%512])
			}
		})
	})
}
