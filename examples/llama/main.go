// Command llama serves a language model with llama.cpp, in Go and without cgo, to several
// requests at once, and records what each operation of it did for which request.
//
// The model has the architecture of Llama, random weights and a token for each byte: the text is
// nonsense. Read the files in this order:
//
//	model.go   llama.cpp, its libraries from npm, the model, and where contrib/ggml is attached
//	engine.go  the steps: what each does for which request, long prompts take several
//	report.go  analysing what was recorded
//	../internal/completions  continuous batching, the HTTP service, with a span for each request, and clients
//
// Without flags the program sends requests to itself, prints what the time went to and what
// made the slow ones slow, and writes llama.jsonl and llama.html:
//
//	go run ./llama
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/contrib/ggml"
	"github.com/optrace/optrace/examples/internal/completions"
	"github.com/optrace/optrace/examples/internal/demo"
)

type config struct {
	addr     string
	file     string
	otlp     string
	record   string
	requests int
	threads  int
}

// forwardThreshold is how long an operation takes to be sent to the OTLP receiver by itself.
const forwardThreshold = 500 * time.Microsecond

var modes = map[string]ggml.Mode{"operations": ggml.EveryOperation, "layers": ggml.EveryLayer, "off": ggml.Off}

func main() {
	var cfg config
	flag.StringVar(&cfg.addr, "addr", "127.0.0.1:0", "serve on `ADDRESS`")
	flag.StringVar(&cfg.file, "o", "llama.jsonl", "write operations to `FILE`, which is replaced, and a page beside it")
	flag.StringVar(&cfg.otlp, "otlp", "", "also send traces to the OTLP receiver at `URL`, such as http://localhost:4318")
	flag.StringVar(&cfg.record, "record", "operations", "record operations, layers, or nothing but requests: `operations|layers|off`")
	flag.IntVar(&cfg.requests, "requests", 24, "send `N` requests to itself and exit; 0 serves until it is interrupted")
	flag.IntVar(&cfg.threads, "threads", max(1, runtime.NumCPU()/2), "compute with `N` threads")
	demo.Main("llama", func(ctx context.Context, out io.Writer) error { return run(ctx, cfg, out) })
}

// run records while it serves, and then reports what it recorded.
func run(ctx context.Context, cfg config, out io.Writer) error {
	mode, ok := modes[cfg.record]
	if !ok {
		return fmt.Errorf("-record %s: want operations, layers or off", cfg.record)
	}
	if err := demo.NewFile(cfg.file); err != nil {
		return err
	}
	opts := []optrace.SetupOption{optrace.WithResourceAttributes(semconv.ServiceName("llama"),
		attribute.String("gen_ai.request.model", "random"))}
	if cfg.otlp != "" {
		receiver, err := demo.NewReceiver(ctx, cfg.otlp)
		if err != nil {
			return err
		}
		defer receiver.Report(out)
		opts = append(opts, optrace.WithSpanExporter(receiver, optrace.WithForwardThreshold(forwardThreshold)))
	}
	sdk, err := optrace.Setup(cfg.file, opts...)
	if err != nil {
		return err
	}
	err = serve(ctx, cfg, mode, sdk, out)
	if err := errors.Join(err, sdk.Shutdown(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	return report(context.WithoutCancel(ctx), cfg.file, out)
}

// serve serves until ctx is done, or until the requests of cfg are answered.
func serve(ctx context.Context, cfg config, mode ggml.Mode, sdk *optrace.SDK, out io.Writer) error {
	// The operations become spans where somebody else wants them, and else cost less.
	var to ggml.Recording = sdk.Processor()
	if cfg.otlp != "" {
		to = sdk.Tracer()
	}
	model, err := loadModel(ctx, cfg.threads, to, mode, out)
	if err != nil {
		return err
	}
	defer model.close()
	service := completions.Service{
		Engine: newEngine(sdk, model), Tracer: sdk.TracerProvider().Tracer("example.com/llama"), MaxPrompt: maxPrompt, MaxTokens: 256,
		Clients: 6, Request: request,
	}
	return service.Run(ctx, cfg.addr, cfg.requests, out)
}

// maxPrompt bounds a prompt in tokens: what all sequences together need fits the context.
const maxPrompt = 768

// request returns the i-th request that the service sends to itself. Prompts and answers differ in length, and every twelfth prompt
// is as long as all of its neighbours together.
func request(r *rand.Rand, i int) completions.Request {
	words := 1 + r.IntN(6)
	if i%12 == 11 {
		words = 45
	}
	return completions.Request{Prompt: strings.Repeat("once upon a time ", words), MaxTokens: 4 + r.IntN(24)}
}
