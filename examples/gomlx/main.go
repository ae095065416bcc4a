// Command gomlx trains a small convolutional network on GoMLX, in Go alone, and shows
// what each of its operations costs. GoMLX is not changed for it: package stepping, beside this
// one, is a backend that runs graphs operation by operation on another backend.
//
// The network learns the ten digits, drawn somewhere in a noisy image. Read the
// files in this order:
//
//	stepping/    the backend, which is all that records
//	model.go     the network, and the names of its parts
//	trainer.go   training with GoMLX
//	digits.go    the images
//	main.go      tracing, and a span for each epoch and each step
//	report.go    analysing what was recorded
//	compare.go   the same training with and without the backend, timed
//
// Usage:
//
//	go run . [-epochs N] [-steps N] [-o DIR]
//	go run . -compare
//
// The first writes into DIR: ops.jsonl, the operations; ops.html, a page for the browser. The
// second prints the table of README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/gomlx/gomlx/backends/simplego"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/gomlx/stepping"
)

// config is what the flags say.
type config struct {
	epochs, steps int
	dir           string
}

func main() {
	var cfg config
	flag.IntVar(&cfg.epochs, "epochs", 5, "train for `N` epochs")
	flag.IntVar(&cfg.steps, "steps", 60, "of `N` steps each")
	flag.StringVar(&cfg.dir, "o", ".", "write into the directory `DIR`, replacing ops.jsonl and ops.html")
	comparing := flag.Bool("compare", false, "time training with and without the stepping backend instead")
	flag.Parse()

	// An interrupt ends the training; what has been recorded is still written.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if *comparing {
		err = compare(ctx, os.Stdout)
	} else {
		err = run(ctx, cfg, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gomlx:", err)
		os.Exit(1)
	}
}

// run records the training and prints the report of what it recorded.
func run(ctx context.Context, cfg config, out io.Writer) error {
	if cfg.epochs < 0 || cfg.steps < 0 {
		return errors.New("epochs and steps must not be negative")
	}
	batch := filepath.Join(cfg.dir, "ops.jsonl")
	if err := record(ctx, cfg, batch, out); err != nil {
		return err
	}
	return report(context.WithoutCancel(ctx), batch, out) // an interrupted run is reported too
}

// record sets tracing up, trains and shuts tracing down.
func record(ctx context.Context, cfg config, batch string, out io.Writer) (err error) {
	if err := os.MkdirAll(filepath.Dir(batch), 0o777); err != nil {
		return err
	}
	if err := os.Remove(batch); err != nil && !errors.Is(err, fs.ErrNotExist) { // the exporter appends
		return err
	}
	sdk, err := optrace.Setup(batch, optrace.WithProviderOptions(sdktrace.WithResource(resource.NewWithAttributes(
		semconv.SchemaURL, semconv.ServiceName("gomlx")))))
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, sdk.Shutdown(context.WithoutCancel(ctx)))
		stats := sdk.Processor().Stats()
		fmt.Fprintf(out, "%d operations recorded, %d written, %d dropped\n\n", stats.Recorded, stats.Written, stats.Dropped)
	}()
	inner, err := simplego.New(sequential)
	if err != nil {
		return err
	}
	w := &workload{backend: stepping.New(inner, sdk.Tracer(), "cpu:0"), spans: sdk.TracerProvider().Tracer("gomlx"), out: out}
	return w.train(ctx, cfg)
}

// sequential is a configuration of GoMLX's backend: operations run on the
// goroutine that executes the graph, one after the other.
const sequential = "ops_sequential"

const (
	rows = 32 // images of a training step
	seed = 1
)

// workload is the training that is recorded.
type workload struct {
	backend *stepping.Backend
	spans   trace.Tracer
	out     io.Writer

	trainer *trainer
	data    *digits
}

// train trains the model, epoch by epoch.
func (w *workload) train(ctx context.Context, cfg config) (err error) {
	w.data = newDigits(seed)
	m := &model{convolution: true, hidden: []int{32}, enter: w.backend.SetPath}
	if w.trainer, err = newTrainer(w.backend, m, seed); err != nil {
		return err
	}
	for epoch := range cfg.epochs {
		if ctx.Err() != nil {
			fmt.Fprintln(w.out, "interrupted")
			return nil
		}
		if err := w.epoch(ctx, epoch, cfg.steps); err != nil {
			return err
		}
	}
	return nil
}

// epoch runs the training steps of one epoch and tests the model. It is what a request
// is to a server: the root above the operations.
func (w *workload) epoch(ctx context.Context, epoch, steps int) error {
	ctx, span := w.spans.Start(ctx, "train.epoch")
	defer span.End()
	var loss float32
	for step := range steps {
		var err error
		if loss, err = w.step(ctx, int64(epoch*steps+step)); err != nil {
			return err
		}
	}
	const tests = 200
	right, err := w.evaluate(ctx, tests)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "epoch %d  loss %.4f  %d of %d new images recognised\n", epoch, loss, right, tests)
	return nil
}

// step runs one training step below a span of its own.
func (w *workload) step(ctx context.Context, step int64) (loss float32, err error) {
	ctx, span := w.spans.Start(optrace.ContextWithStep(ctx, step), "train.step")
	defer span.End()
	w.backend.SetContext(ctx)
	return w.trainer.step(w.data.batch(rows))
}

// evaluate returns how many of n new images the model recognises.
func (w *workload) evaluate(ctx context.Context, n int) (right int, err error) {
	ctx, span := w.spans.Start(ctx, "evaluate")
	defer span.End()
	w.backend.SetContext(ctx)
	return w.trainer.recognised(w.data.batch(n))
}
