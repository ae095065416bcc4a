// Command quickstart trains a small neural network on several devices, answers a few requests with it, and shows where
// the time went.
//
// The devices are goroutines. Matrix products, gradients, copies of the input and an all-reduce around a ring are real.
// Read the files in this order:
//
//	device.go    the kernels, each recorded as an operation: the only instrumented file
//	model.go     the network, built on the kernels
//	parallel.go  training steps on all devices at once, and requests
//	ring.go      the all-reduce
//	main.go      setup
//	report.go    the report
//
// Usage:
//
//	go run ./quickstart [-steps N] [-devices N] [-o DIR]
//
// It writes into DIR: ops.jsonl, the operations; ops.folded, collapsed stacks for flamegraph.pl, inferno or speedscope;
// ops.html, a page for the browser.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/demo"
	"github.com/optrace/optrace/tensorconv"
)

type config struct {
	steps, devices int
	dir            string
}

func main() {
	var cfg config
	flag.IntVar(&cfg.steps, "steps", 50, "train for `N` steps")
	flag.IntVar(&cfg.devices, "devices", 4, "train on `N` devices")
	flag.StringVar(&cfg.dir, "o", ".", "write into the directory `DIR`, replacing ops.jsonl, ops.folded and ops.html")
	// An interrupt ends the training. Recorded operations are still written.
	demo.Main("quickstart", func(ctx context.Context, out io.Writer) error { return run(ctx, cfg, out) })
}

// run records the workload and prints the report.
func run(ctx context.Context, cfg config, out io.Writer) error {
	const maxDevices = 64
	if cfg.steps < 0 || cfg.devices < 1 || cfg.devices > maxDevices {
		return fmt.Errorf("steps must not be negative and devices be 1 to %d", maxDevices)
	}
	batch := filepath.Join(cfg.dir, "ops.jsonl")
	if err := record(ctx, cfg, batch, out); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // report an interrupted run too
	return report(ctx, batch, out)
}

// record sets tracing up, runs the workload and shuts tracing down.
func record(ctx context.Context, cfg config, batch string, out io.Writer) (err error) {
	if err := demo.NewFile(batch); err != nil {
		return err
	}
	// 1. Setup makes a TracerProvider with a processor. It turns finished operations into entries of the file.
	// optrace.WithSpanExporter would also send the spans to Jaeger or to a Collector.
	sdk, err := optrace.Setup(batch, optrace.WithResourceAttributes(
		semconv.ServiceName("quickstart"), tensorconv.Rank(0), tensorconv.WorldSize(1)))
	if err != nil {
		return err
	}
	// 2. Shutdown writes the buffers, even after an interrupt.
	defer func() {
		err = errors.Join(err, sdk.Shutdown(context.WithoutCancel(ctx)))
		stats := sdk.Processor().Stats()
		fmt.Fprintf(out, "%d operations recorded, %d written, %d dropped\n\n",
			stats.Recorded, stats.Written, stats.Dropped)
	}()
	return workload(ctx, cfg, sdk.TracerProvider(), out)
}

// workload trains the network and answers requests with it.
func workload(ctx context.Context, cfg config, provider trace.TracerProvider, out io.Writer) error {
	data := newDataset()
	trainer, err := newTrainer(provider, cfg.devices)
	if err != nil {
		return err
	}
	for step := range cfg.steps {
		if ctx.Err() != nil {
			fmt.Fprintln(out, "interrupted")
			break
		}
		loss := trainer.Step(ctx, int64(step), data.Batch(cfg.devices*rowsPerDevice))
		if step%10 == 0 || step == cfg.steps-1 {
			fmt.Fprintf(out, "step %3d  loss %.4f\n", step, loss)
		}
	}

	const requests, rows = 8, 16
	right := 0
	for request := range requests {
		b := data.Batch(rows)
		for i, class := range trainer.Predict(ctx, request, b.images) {
			if class == b.labels[i] {
				right++
			}
		}
	}
	fmt.Fprintf(out, "%d of %d images recognised in %d requests\n", right, requests*rows, requests)
	return nil
}
