// Command batching is a text generator that serves several requests at once: its
// engine takes them together in steps, as inference engines do, and each step says by
// span links which requests it works for.
//
// The text is nonsense, the network small and its weights are random. What the program
// shows is how time that several requests share is told apart. Read the files in this
// order:
//
//	server.go  the HTTP handler, with a span for each request
//	engine.go  the engine: dynamic batches, a span with links for each step
//	model.go   the network, with an operation for each part
//	load.go    requests, as clients would send them
//
// Without flags the program sends requests to itself and prints what made the slow
// ones slow, read back from the file that it recorded:
//
//	go run ./batching
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/examples/internal/demo"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/render/text"
)

// config is what the flags say.
type config struct {
	addr     string
	file     string
	requests int
}

func main() {
	var cfg config
	flag.StringVar(&cfg.addr, "addr", "127.0.0.1:0", "serve on `ADDRESS`")
	flag.StringVar(&cfg.file, "o", "batching.jsonl", "write operations to `FILE`, which is replaced")
	flag.IntVar(&cfg.requests, "requests", 48, "send `N` requests to itself and exit; 0 serves until it is interrupted")
	demo.Main("batching", func(ctx context.Context, out io.Writer) error { return run(ctx, cfg, out) })
}

// run records while it serves, and then prints the requests with their parts of the
// steps.
func run(ctx context.Context, cfg config, out io.Writer) error {
	if err := demo.NewFile(cfg.file); err != nil {
		return err
	}
	service := resource.NewSchemaless(semconv.ServiceName("generator"))
	sdk, err := optrace.Setup(cfg.file, optrace.WithProviderOptions(sdktrace.WithResource(service)))
	if err != nil {
		return err
	}
	err = serve(ctx, cfg, sdk, out)
	if err := errors.Join(err, sdk.Shutdown(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	return printRequests(cfg.file, out)
}

// serve serves until ctx is done, or until the requests of cfg are answered.
func serve(ctx context.Context, cfg config, sdk *optrace.SDK, out io.Writer) error {
	engine := newEngine(sdk.TracerProvider())
	working, stop := context.WithCancel(ctx)
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		engine.run(working)
	}()
	defer func() {
		stop()
		<-worked
	}()

	client := func(ctx context.Context, address string) error {
		if cfg.requests > 0 {
			return sendRequests(ctx, address, cfg.requests)
		}
		fmt.Fprintf(out, "serving on %s; try curl -d '{\"prompt\":\"once upon a time\",\"tokens\":20}' %[1]s%s\n", address, generateRoute)
		<-ctx.Done()
		return nil
	}
	return demo.Serve(ctx, cfg.addr, newService(sdk.TracerProvider(), engine), client)
}

// printRequests prints what "optrace correlate FILE" does.
func printRequests(file string, out io.Writer) error {
	join := correlate.NewJoin()
	for rec, err := range ingest.Open(file).Records() {
		if err != nil {
			return err
		}
		join.AddLocal(rec)
	}
	fmt.Fprintf(out, "operations are in %s\n", file)
	return text.WriteCorrelation(out, join.Report(correlate.Options{Findings: true}), text.Options{Top: 8})
}
