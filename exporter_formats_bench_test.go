package optrace_test

import (
	"context"
	"io"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
)

// exportBatch is how many spans OpenTelemetry's batch processor exports at a time.
const exportBatch = 512

// sdkBatch returns a batch of operations as the SDK hands them to exporters.
func sdkBatch(tb testing.TB) []sdktrace.ReadOnlySpan {
	tb.Helper()
	kept := new(spantest.Exporter)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept), sdktrace.WithResource(spantest.Service("trainer")))
	tracer := optrace.NewTracer(tp)
	names := []string{"matmul", "softmax", "layernorm", "gelu"}
	for i := range exportBatch {
		n := int64(i % 32)
		_, o := tracer.Start(tb.Context(), names[i%len(names)], "cuda:0")
		o.In(64, 128+n).In(128+n, 256).Out(64, 256).DType(op.F16).End()
	}
	return kept.Spans()
}

// marshallingClient encodes what it is given, as an OTLP exporter does.
type marshallingClient struct {
	spantest.OTLPClient
	bytes int
}

func (c *marshallingClient) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	encoded, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	c.bytes = len(encoded)
	return err
}

func TestOTLPProtoAllocations(t *testing.T) {
	spans := sdkBatch(t)
	const limit = 2
	for _, f := range []optrace.Format{optrace.FormatOTLPProto, optrace.FormatOTLPJSON} {
		exp := newExporter(t, io.Discard, optrace.WithFormat(f))
		export := func() {
			if err := exp.ExportSpans(context.Background(), spans); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			export() // buffers and caches grow
		}
		if n := testing.AllocsPerRun(20, export); n > limit {
			t.Errorf("%v: %v allocations per batch of %d, want %d at most", f, n, len(spans), limit)
		}
	}
}

func BenchmarkExportFormats(b *testing.B) {
	spans := sdkBatch(b)
	run := func(b *testing.B, exp sdktrace.SpanExporter) {
		b.ReportAllocs()
		for b.Loop() {
			if err := exp.ExportSpans(context.Background(), spans); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(spans)), "ns/span")
	}
	for _, f := range []optrace.Format{optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
		b.Run(f.String(), func(b *testing.B) { run(b, newExporter(b, io.Discard, optrace.WithFormat(f))) })
	}
	for _, c := range []optrace.Compression{optrace.CompressionGzip, optrace.CompressionZstd} {
		b.Run("otlp-proto "+c.String(), func(b *testing.B) {
			run(b, newExporter(b, io.Discard, optrace.WithFormat(optrace.FormatOTLPProto), optrace.WithCompression(c)))
		})
	}
	b.Run("otlptrace and Marshal", func(b *testing.B) {
		run(b, otlptrace.NewUnstarted(new(marshallingClient)))
	})
}
