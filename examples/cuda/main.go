// Command cuda is a small inference engine on an NVIDIA GPU, with its operations recorded: examples/async with a real
// device. It loads the driver at its start and needs neither cgo nor a toolkit. Without a driver or a device it says so
// and exits without an error. Read the files in this order:
//
//	driver.go   the functions of libcuda in use; libcuda_linux.go loads them
//	device.go   the device: streams, memory, kernels; matmul.ptx is a matrix product
//	event.go    events, and the device's clock built on them
//	network.go  the computation, checked against the host
//	engine.go   the engine: enqueueing and recording a step
//	load.go     steps all at once, then one by one to measure the cost of recording
//	../internal/devices  setup and report
//
// Usage:
//
//	go run ./cuda [-steps N] [-n SIZE] [-o DIR]
//
// It writes the operations of the first part to DIR/cuda.jsonl, and of the second part to DIR/cuda-timed.jsonl.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/demo"
	"github.com/optrace/optrace/examples/internal/devices"
)

type config struct {
	steps, n int
	dir      string
}

// maxSize bounds the matrices. Each stream holds two batches on the device and two on the host.
const maxSize = 2048

func main() {
	var cfg config
	flag.IntVar(&cfg.steps, "steps", 50, "send `N` steps at once, and as many timed ones, with recording and without")
	flag.IntVar(&cfg.n, "n", 512, "multiply matrices of `SIZE` × SIZE numbers")
	flag.StringVar(&cfg.dir, "o", ".", "write into the directory `DIR`, replacing cuda.jsonl and cuda-timed.jsonl")
	demo.Main("cuda", func(ctx context.Context, out io.Writer) error { return run(ctx, cfg, loadDriver, out) })
}

// run records steps on the driver's first device. A missing device is no error.
func run(ctx context.Context, cfg config, load func() (*driver, error), out io.Writer) error {
	if cfg.steps < 1 {
		return errors.New("there must be steps")
	}
	if cfg.n < 1 || cfg.n > maxSize {
		return fmt.Errorf("matrices of %d rows: there must be 1 to %d", cfg.n, maxSize)
	}
	drv, err := load()
	if err == nil {
		err = runOn(ctx, cfg, drv, out)
	}
	if errors.Is(err, errNoDevice) {
		_, err = fmt.Fprintf(out, "Nothing was run: %v.\n", err)
	}
	return err
}

func runOn(ctx context.Context, cfg config, drv *driver, out io.Writer) (err error) {
	dev, err := openDevice(drv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.close()) }()
	net := newNetwork(dev, cfg.n)
	compared, err := net.check()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d products of %d×%d matrices in a batch; %d numbers agree with the host's\n",
		dev.name, batch, cfg.n, cfg.n, compared)

	file := filepath.Join(cfg.dir, "cuda.jsonl")
	all := func(ctx context.Context, e *engine) error { return sendAll(ctx, e, cfg.steps) }
	e, err := record(ctx, net, file, all, out)
	if err != nil {
		return err
	}
	if err := devices.Report(ctx, file, out); err != nil {
		return err
	}
	if err := compare(file, &e.byHand, out); err != nil {
		return err
	}
	var cost overhead
	timed := func(ctx context.Context, e *engine) error { return cost.sendTimed(ctx, e, cfg.steps) }
	if _, err := record(ctx, net, filepath.Join(cfg.dir, "cuda-timed.jsonl"), timed, out); err != nil {
		return err
	}
	return cost.print(out)
}

// record sends steps to a new engine and returns it with its measurements.
func record(
	ctx context.Context, net *network, file string, send func(context.Context, *engine) error, out io.Writer,
) (e *engine, err error) {
	err = devices.Record(ctx, "cuda", file, out, func(ctx context.Context, sdk *optrace.SDK) (devices.Queue, error) {
		if e, err = newEngine(net, sdk); err != nil {
			return nil, err
		}
		return e.queue, send(ctx, e)
	})
	if err != nil {
		return nil, err
	}
	e.reap()
	return e, e.dev.err
}
