// Command watch is a program without a file exporter: its OpenTelemetry SDK exports spans by OTLP to the default
// address. With
//
//	optrace serve -open
//
// on the same machine, the browser shows its operations live.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/demo"
)

func main() {
	useGRPC := flag.Bool("grpc", false, "export by gRPC")
	duration := flag.Duration("for", 3*time.Second, "how long to run")
	demo.Main("watch", func(ctx context.Context, out io.Writer) error {
		ctx, cancel := context.WithTimeout(ctx, *duration)
		defer cancel()
		fmt.Fprintf(out, "sending the spans of requests by OTLP for %v; optrace serve -open shows them\n", *duration)
		return run(ctx, *useGRPC, out)
	})
}

// run serves requests until ctx is done and exports their spans.
func run(ctx context.Context, useGRPC bool, out io.Writer) error {
	// Export the last spans after the end of ctx.
	last := context.WithoutCancel(ctx)
	exporter, err := newExporter(last, useGRPC)
	if err != nil {
		return err
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(500*time.Millisecond)))
	tr := optrace.NewTracer(tp)
	requests := tp.Tracer("watch")
	for i := 0; ctx.Err() == nil; i++ {
		request, span := requests.Start(ctx, "POST /predict")
		serve(request, tr, i)
		span.End()
	}
	err = tp.Shutdown(last)
	if r, ok := exporter.(*demo.Receiver); ok {
		r.Report(out)
	}
	return err
}

// newExporter returns the SDK's exporter, without TLS unless the environment names a receiver.
func newExporter(ctx context.Context, useGRPC bool) (sdktrace.SpanExporter, error) {
	switch {
	case !useGRPC:
		return demo.NewReceiver(ctx, "")
	case demo.NamedReceiver() != "":
		return otlptracegrpc.New(ctx)
	}
	return otlptracegrpc.New(ctx, otlptracegrpc.WithInsecure())
}

// serve runs the operations of a request. Every tenth request has a slow one.
func serve(ctx context.Context, tr *optrace.Tracer, i int) {
	work := func(name, device string, d time.Duration) {
		_, o := tr.Start(ctx, name, device)
		time.Sleep(d)
		o.In(8, 512).Out(8, 512).End()
	}
	work("embed", "cuda:0", time.Millisecond)
	matmul := 3 * time.Millisecond
	if i%10 == 9 {
		matmul *= 8
	}
	work("matmul", "cuda:0", matmul)
	work("matmul", "cuda:1", 3*time.Millisecond)
	work("allreduce", "cuda:1", 2*time.Millisecond)
}
