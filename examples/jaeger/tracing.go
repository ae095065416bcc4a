package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/optrace/optrace"
)

const serviceName = "ranker"

// forwardThreshold is how long an operation takes to be sent to Jaeger by
// itself. Shorter ones are many, and are told of in a summary.
const forwardThreshold = 200 * time.Microsecond

type tracing struct {
	provider      *sdktrace.TracerProvider
	batch, jaeger *optrace.Processor
}

// startTracing sets up a batch of all operations in a file, and traces of the
// requests at an OTLP receiver.
func startTracing(ctx context.Context, otlp, batch string) (*tracing, error) {
	// 1. Every operation goes into the local batch.
	file, err := optrace.NewFileExporter(batch)
	if err != nil {
		return nil, err
	}
	all, err := optrace.NewProcessor(file)
	if err != nil {
		return nil, errors.Join(err, file.Shutdown(ctx))
	}

	// 2. Requests and what matters in them go to Jaeger.
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(otlp+"/v1/traces"))
	if err != nil {
		return nil, errors.Join(err, all.Shutdown(ctx))
	}
	requests, err := optrace.NewForwarder(client, optrace.WithForwardThreshold(forwardThreshold))
	if err != nil {
		return nil, errors.Join(err, all.Shutdown(ctx), client.Shutdown(ctx))
	}

	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(all),
		sdktrace.WithSpanProcessor(requests),
		sdktrace.WithResource(resource.NewWithAttributes(semconv.SchemaURL, semconv.ServiceName(serviceName))),
	)
	return &tracing{provider: provider, batch: all, jaeger: requests}, nil
}

// stop sends and writes what is buffered, and says what became of the spans.
func (t *tracing) stop(ctx context.Context, out io.Writer) error {
	err := t.provider.Shutdown(ctx)
	batch, jaeger := t.batch.Stats(), t.jaeger.Stats()
	fmt.Fprintf(out, "batch:  %d operations written, %d dropped\n", batch.Written, batch.Dropped)
	fmt.Fprintf(out, "jaeger: %d spans sent, %d dropped, %d operations in summaries\n", jaeger.Written, jaeger.Dropped, jaeger.Skipped)
	return err
}
