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
//	../internal/devices  setting up, and what each phase was bound by, from the batches that were written
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
	"io"
	"path/filepath"

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
		send func(*engine, int)
	}{{"burst", sendBurst}, {"paced", sendPaced}} {
		batch := filepath.Join(cfg.dir, phase.name+".jsonl")
		err := devices.Record(ctx, "async", batch, out, func(_ context.Context, sdk *optrace.SDK) (devices.Queue, error) {
			dev := newDevice()
			defer dev.close()
			e, err := newEngine(dev, sdk)
			if err != nil {
				return nil, err
			}
			phase.send(e, cfg.requests)
			return e.queue, nil
		})
		if err != nil {
			return err
		}
		if err := devices.Report(ctx, batch, out); err != nil {
			return err
		}
	}
	return nil
}
