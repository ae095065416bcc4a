// Command async is a small inference engine with a device that runs behind the host, like an accelerator: the host
// enqueues copies and kernels, and events stamped by the device's clock tell their times.
//
// The device consists of goroutines and its clock drifts. Matrix products, copies and streams are real. Read the files
// in this order:
//
//	device.go  the device: two compute streams, a copy engine, events, a clock
//	engine.go  the engine: enqueueing and recording a request
//	load.go    requests: a burst, then one by one
//	../internal/devices  setup, and a report for each phase
//
// Usage:
//
//	go run ./async [-requests N] [-o DIR]
//
// It writes the operations of the two phases into DIR: burst.jsonl and paced.jsonl.
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

// run records both phases and reports the bottleneck of each.
func run(ctx context.Context, cfg config, out io.Writer) error {
	if cfg.requests < 1 {
		return errors.New("there must be requests")
	}
	for _, phase := range []struct {
		name string
		send func(*engine, int)
	}{{"burst", sendBurst}, {"paced", sendPaced}} {
		batch := filepath.Join(cfg.dir, phase.name+".jsonl")
		send := func(_ context.Context, sdk *optrace.SDK) (devices.Queue, error) {
			dev := newDevice()
			defer dev.close()
			e, err := newEngine(dev, sdk)
			if err != nil {
				return nil, err
			}
			phase.send(e, cfg.requests)
			return e.queue, nil
		}
		if err := devices.Record(ctx, "async", batch, out, send); err != nil {
			return err
		}
		if err := devices.Report(ctx, batch, out); err != nil {
			return err
		}
	}
	return nil
}
