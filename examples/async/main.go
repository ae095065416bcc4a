// Command async is a small inference engine whose device runs behind the host, as
// accelerators do: the host enqueues copies and kernels and goes on, and what ran when is
// known from events that the device stamps with a clock of its own.
//
// The device is made of goroutines and its clock drifts; all else is real: matrix
// products, copies, streams that run in order and wait for one another. Read the files
// in this order:
//
//	device.go  the device: two compute streams, a copy engine, events, a clock
//	engine.go  the engine: what is enqueued for a request, and how it is recorded
//	load.go    requests: a burst, then one after the other
//	report.go  what each phase was bound by, from the batches that were written
//
// Usage:
//
//	go run ./async [-requests N] [-o DIR]
//
// It writes into DIR: burst.jsonl and paced.jsonl, the operations of the two phases.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/demo"
	"github.com/optrace/optrace/examples/internal/devices"
)

type config struct {
	requests int
	dir      string
}

func main() {
	var cfg config
	flag.IntVar(&cfg.requests, "requests", 12, "send `N` requests in each phase")
	flag.StringVar(&cfg.dir, "o", ".", "write into the directory `DIR`, replacing burst.jsonl and paced.jsonl")
	demo.Main("async", func(ctx context.Context, out io.Writer) error { return run(ctx, cfg, out) })
}

// run records both phases and says what each was bound by.
func run(ctx context.Context, cfg config, out io.Writer) error {
	if cfg.requests < 1 {
		return errors.New("there must be requests")
	}
	for _, phase := range []struct {
		name string
		send func(context.Context, *engine, int) error
	}{{"burst", sendBurst}, {"paced", sendPaced}} {
		batch := filepath.Join(cfg.dir, phase.name+".jsonl")
		send := func(ctx context.Context, e *engine) error { return phase.send(ctx, e, cfg.requests) }
		if err := record(ctx, batch, send, out); err != nil {
			return err
		}
		if err := devices.Report(context.WithoutCancel(ctx), batch, out, finding); err != nil {
			return err
		}
	}
	return nil
}

// record sets tracing and the device up, sends requests and shuts all down.
func record(ctx context.Context, batch string, send func(context.Context, *engine) error, out io.Writer) (err error) {
	if err := demo.NewFile(batch); err != nil {
		return err
	}
	service := resource.NewSchemaless(semconv.ServiceName("async"))
	sdk, err := optrace.Setup(batch, optrace.WithProviderOptions(sdktrace.WithResource(service)))
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // an interrupt ends the requests, and what was recorded is written
	defer func() { err = errors.Join(err, sdk.Shutdown(ctx)) }()

	dev := newDevice()
	defer dev.close()
	e, err := newEngine(dev, sdk)
	if err != nil {
		return err
	}
	if err := send(ctx, e); err != nil {
		return err
	}
	// What the device has not got through yet is waited for here, and only here.
	err = e.queue.Shutdown(ctx)
	n := e.queue.Stats()
	fmt.Fprintf(out, "%s: %d operations launched, %d recorded, %d dropped, %d lost\n\n", batch, n.Launched, n.Recorded, n.Dropped, n.Lost)
	return err
}
