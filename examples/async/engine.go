package main

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"
	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/deviceclock"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// The network: a request has rows of width numbers, and each layer keeps them.
const (
	rows, width, layers = 128, 256, 2

	deviceID = "cuda:0"
)

type engine struct {
	dev      *device
	requests trace.Tracer
	host     *optrace.Tracer
	queue    *optrace.Queue[*event]
	weights  [layers]*mat.Dense
	sent     int

	// What is launched, by stream where it runs on several.
	copyIn                *optrace.Prepared
	matmul, relu, copyOut [copyEngine]*optrace.Prepared
}

func newEngine(dev *device, sdk *optrace.SDK) (*engine, error) {
	e := &engine{dev: dev, requests: sdk.TracerProvider().Tracer("server"), host: sdk.Tracer()}

	// The queue records what the device has got through. It reads the device's clock every
	// so often, and from that knows the Unix times of events, and how far they may be off.
	read := func() (int64, error) { return dev.now(), nil }
	clock := deviceclock.New(deviceclock.Config{})
	var err error
	e.queue, err = optrace.NewQueue[*event](sdk.Processor(), optrace.WithDeviceClock(clock, 20*time.Millisecond, read))
	if err != nil {
		return nil, err
	}
	for i := range e.weights {
		e.weights[i] = mat.NewDense(width, width, nil)
		e.weights[i].Apply(func(j, k int, _ float64) float64 { return 1 / float64(1+j+k) }, e.weights[i])
	}
	return e, e.prepare()
}

func (e *engine) prepare() error {
	x, w := op.Shape{rows, width}, op.Shape{width, width}
	var failed error
	prepare := func(stream int64, name string, kind op.Kind, inputs ...op.Shape) *optrace.Prepared {
		p, err := e.host.Prepare(optrace.OpSpec{
			Name: name, Kind: kind, Device: deviceID, Stream: op.Known(stream), Inputs: inputs, Output: x, DType: op.F64,
		})
		failed = errors.Join(failed, err)
		return p
	}
	e.copyIn = prepare(copyEngine, "Memcpy HtoD", op.KindMemory, x)
	for stream := range int64(copyEngine) {
		e.matmul[stream] = prepare(stream, "matmul", op.KindCompute, x, w)
		e.relu[stream] = prepare(stream, "relu", op.KindCompute, x)
		e.copyOut[stream] = prepare(stream, "Memcpy DtoH", op.KindMemory, x)
	}
	return failed
}

// launch enqueues a kernel between two events, and returns the second one. These lines are
// all that an engine adds to record what a device does.
func (e *engine) launch(ctx context.Context, stream int, p *optrace.Prepared, kernel func()) *event {
	l := e.queue.Begin(ctx, p)
	start := e.dev.mark(stream)
	e.dev.run(stream, kernel)
	end := e.dev.mark(stream)
	e.queue.Launched(l, start, end)
	return end
}

// infer enqueues a request and returns the event behind its last copy: the host does not
// wait for the device. Requests take turns on the two compute streams.
func (e *engine) infer(ctx context.Context, input *mat.Dense, result *mat.Dense) *event {
	ctx, request := e.requests.Start(ctx, "POST /infer")
	defer request.End() // long before the device has got through it
	ctx, host := e.host.Start(ctx, "enqueue", "cpu")
	defer host.Attrs(tensorconv.OpSideHost).End()

	stream := firstCompute + e.sent%copyEngine
	e.sent++
	x, y := mat.NewDense(rows, width, nil), mat.NewDense(rows, width, nil)
	here := x
	e.dev.wait(stream, e.launch(ctx, copyEngine, e.copyIn, func() { here.Copy(input) }))
	for _, w := range e.weights {
		in, out := x, y
		e.launch(ctx, stream, e.matmul[stream], func() { out.Mul(in, w) })
		e.launch(ctx, stream, e.relu[stream], func() {
			out.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, out)
		})
		x, y = y, x
	}
	// The stream that made the result copies it out: in the copy engine, which works in
	// order, the copies of later requests would have to wait for it.
	out := x
	return e.launch(ctx, stream, e.copyOut[stream], func() { result.Copy(out) })
}
