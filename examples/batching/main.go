// Command batching is a text generator with batches: its engine runs steps for several requests, like inference
// engines, and links each step to its requests.
//
// The network is small, its weights are random and the text is nonsense. The program shows how shared time is divided.
// Read the files in this order:
//
//	engine.go  the engine: a span with links for each step
//	model.go   the network: an operation for each part
//	../internal/completions  dynamic batches, the HTTP service and its clients
//
// Without flags the program sends requests to itself and prints whose prompt stalls whom, read from its file:
//
//	go run ./batching
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/completions"
	"github.com/optrace/optrace/examples/internal/demo"
)

type config struct {
	addr, file string
	requests   int
}

func main() {
	var cfg config
	flag.StringVar(&cfg.addr, "addr", "127.0.0.1:0", "serve on `ADDRESS`")
	flag.StringVar(&cfg.file, "o", "batching.jsonl", "write operations to `FILE`, which is replaced")
	flag.IntVar(&cfg.requests, "requests", 48, "send `N` requests to itself and exit; 0 serves until it is interrupted")
	demo.Main("batching", func(ctx context.Context, out io.Writer) error { return run(ctx, cfg, out) })
}

// run serves, records and prints the first screen of "optrace correlate".
func run(ctx context.Context, cfg config, out io.Writer) error {
	if err := demo.NewFile(cfg.file); err != nil {
		return err
	}
	sdk, err := optrace.Setup(cfg.file, optrace.WithResourceAttributes(semconv.ServiceName("generator")))
	if err != nil {
		return err
	}
	err = newService(sdk).Run(ctx, cfg.addr, cfg.requests, out)
	if err := errors.Join(err, sdk.Shutdown(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	fmt.Fprintf(out, "operations are in %s\n", cfg.file)
	return completions.PrintRequests(out, cfg.file)
}

// newService returns the service. Every eighth request to itself has a long prompt, which dominates its first step.
func newService(sdk *optrace.SDK) *completions.Service {
	return &completions.Service{
		Engine: newEngine(sdk), Tracer: sdk.TracerProvider().Tracer("example.com/generator"),
		MaxPrompt: 4096, MaxTokens: 1024, Clients: 8,
		Request: func(r *rand.Rand, i int) completions.Request {
			request := completions.Request{Prompt: "once upon a time", MaxTokens: 4 + r.IntN(24)}
			if i%8 == 7 {
				request.Prompt = strings.Repeat(request.Prompt+" ", 60)
			}
			return request
		},
	}
}
