package export

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// sdkBatches returns n batches of operations as the SDK hands them to exporters:
// those of the graph one after the other, below the span of a step. With
// newShapes every operation is another one.
func sdkBatches(ctx context.Context, n int, newShapes bool) ([][]sdktrace.ReadOnlySpan, error) {
	kept := new(keeping)
	res := resource.NewSchemaless(attribute.String(op.KeyServiceName, workload.ServiceName), tensorconv.Rank(0))
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept), sdktrace.WithResource(res))
	tracer := tp.Tracer(optrace.ScopeName, trace.WithInstrumentationVersion(optrace.Version))
	ctx, step := tracer.Start(ctx, "train_step")
	specs := workload.RandomSpecs(n * batchSize)
	if !newShapes {
		graph := workload.Graph(1)
		for i := range specs {
			specs[i] = graph[i%len(graph)]
		}
	}
	for _, spec := range specs {
		_, span := tracer.Start(ctx, spec.Name)
		span.SetAttributes(spec.Attributes()...)
		span.End()
	}
	batches := make([][]sdktrace.ReadOnlySpan, n)
	for i := range batches {
		batches[i] = kept.spans[i*batchSize:][:batchSize]
	}
	step.End()
	return batches, tp.Shutdown(ctx)
}

// keeping is an exporter that keeps the spans.
type keeping struct{ spans []sdktrace.ReadOnlySpan }

func (k *keeping) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	k.spans = append(k.spans, spans...)
	return nil
}

func (k *keeping) Shutdown(context.Context) error { return nil }
