// Command llama serves a language model with llama.cpp to several requests at once, in Go without cgo, and records each
// operation with its requests.
//
// The model has Llama's architecture, random weights and a token for each byte; its text is nonsense. Read the files in
// this order:
//
//	model.go   llama.cpp, its libraries from npm, the model, and contrib/ggml
//	engine.go  the steps and their requests; long prompts take several steps
//	report.go  the report
//	../internal/completions  continuous batching, the HTTP service and its clients
//
// Without flags the program sends requests to itself, prints whose prompt stalls whom and what shorter steps would
// bring, and writes llama.jsonl and llama.html:
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

	"github.com/hybridgroup/yzma/pkg/llama"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/contrib/ggml"
	"github.com/optrace/optrace/examples/internal/completions"
	"github.com/optrace/optrace/examples/internal/demo"
)

type config struct {
	addr, file, otlp, record string
	requests, threads, batch int
}

// forwardThreshold is the shortest duration of an operation sent to the OTLP receiver.
const forwardThreshold = 500 * time.Microsecond

var modes = map[string]ggml.Mode{
	"operations": ggml.EveryOperation, "layers": ggml.EveryLayer, "off": ggml.Off,
}

func main() {
	var cfg config
	flag.StringVar(&cfg.addr, "addr", "127.0.0.1:0", "serve on `ADDRESS`")
	flag.StringVar(&cfg.file, "o", "llama.jsonl", "write operations to `FILE`, which is replaced, and a page beside it")
	flag.StringVar(&cfg.otlp, "otlp", "",
		"also send traces to the OTLP receiver at `URL`, such as http://localhost:4318")
	flag.StringVar(&cfg.record, "record", "operations",
		"record operations, layers, or nothing but requests: `operations|layers|off`")
	flag.IntVar(&cfg.requests, "requests", 24, "send `N` requests to itself and exit; 0 serves until it is interrupted")
	flag.IntVar(&cfg.threads, "threads", max(1, runtime.NumCPU()/2), "compute with `N` threads")
	flag.IntVar(&cfg.batch, "batch", maxPrompt+maxSequences, "read up to `N` tokens in a step; fewer divide long prompts")
	demo.Main("llama", func(ctx context.Context, out io.Writer) error { return run(ctx, cfg, out) })
}

// run serves, records and reports.
func run(ctx context.Context, cfg config, out io.Writer) error {
	mode, ok := modes[cfg.record]
	if !ok {
		return fmt.Errorf("-record %s: want operations, layers or off", cfg.record)
	} else if cfg.batch <= maxSequences {
		return fmt.Errorf("-batch %d: want more than %d: a token for each request, and some of a prompt", cfg.batch,
			maxSequences)
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
	return report(context.WithoutCancel(ctx), cfg, out)
}

// serve serves until ctx is done, or until cfg's requests are answered.
func serve(ctx context.Context, cfg config, mode ggml.Mode, sdk *optrace.SDK, out io.Writer) error {
	// Operations become spans only for the OTLP receiver, because entries cost less.
	var to ggml.Recording = sdk.Processor()
	if cfg.otlp != "" {
		to = sdk.Tracer()
	}
	attach := func(p *llama.ContextParams) (*ggml.Hook, error) { return ggml.Attach(p, to, mode) }
	model, err := loadModel(ctx, cfg, attach, out)
	if err != nil {
		return err
	}
	defer model.close()
	service := completions.Service{
		Engine: newEngine(sdk, model), Tracer: sdk.TracerProvider().Tracer("example.com/llama"),
		MaxPrompt: maxPrompt, MaxTokens: 256, Clients: 6, Request: request,
	}
	return service.Run(ctx, cfg.addr, cfg.requests, out)
}

const shorter = 64 // a number of tokens of a step with which prompts stall others less

const maxPrompt = 768 // bounds a prompt in tokens, so that all sequences fit the context

// request returns the i-th of the service's own requests, with prompts and answers of different lengths. Every twelfth
// prompt is as long as all its neighbors together.
func request(r *rand.Rand, i int) completions.Request {
	words := 1 + r.IntN(6)
	if i%12 == 11 {
		words = 45
	}
	return completions.Request{Prompt: strings.Repeat("once upon a time ", words), MaxTokens: 4 + r.IntN(24)}
}
