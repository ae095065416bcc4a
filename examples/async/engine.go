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

// The network: a request has rows of width numbers.
const (
	rows     = 128
	width    = 256
	layers   = 2
	deviceID = "cuda:0"
)

type engine struct {
	dev      *device
	requests trace.Tracer
	host     *optrace.Tracer
	queue    *optrace.Queue[*event]
	weights  [layers]*mat.Dense
	sent     int

	// Launched operations, by stream if several streams run them.
	copyIn                *optrace.Prepared
	matmul, relu, copyOut [copyEngine]*optrace.Prepared
}

func newEngine(dev *device, sdk *optrace.SDK) (*engine, error) {
	e := &engine{dev: dev, requests: sdk.TracerProvider().Tracer("server"), host: sdk.Tracer()}

	// The queue records operations that the device has run. It reads the device's clock regularly to convert event
	// times to Unix times with a bounded error.
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
	x := op.Shape{rows, width}
	w := op.Shape{width, width}
	var failed error
	prepare := func(stream int64, name string, kind op.Kind, inputs ...op.Shape) *optrace.Prepared {
		p, err := e.host.Prepare(optrace.OpSpec{
			Name: name, Kind: kind, Device: deviceID, Stream: op.Known(stream),
			Inputs: inputs, Output: x, DType: op.F64,
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

// launch enqueues a kernel between two events and returns the second one. An engine needs only these lines to record a
// device.
func (e *engine) launch(ctx context.Context, stream int, p *optrace.Prepared, kernel func()) *event {
	l := e.queue.Begin(ctx, p)
	start := e.dev.mark(stream)
	e.dev.run(stream, kernel)
	end := e.dev.mark(stream)
	e.queue.Launched(l, start, end)
	return end
}

// infer enqueues a request and returns the event after its last copy. The host does not wait for the device. Requests
// alternate between the two compute streams.
func (e *engine) infer(ctx context.Context, input *mat.Dense, result *mat.Dense) *event {
	ctx, request := e.requests.Start(ctx, "POST /infer")
	defer request.End() // long before the device has run it
	ctx, host := e.host.Start(ctx, "enqueue", "cpu")
	defer host.Attrs(tensorconv.OpSideHost).End()

	stream := firstCompute + e.sent%copyEngine
	e.sent++
	x := mat.NewDense(rows, width, nil)
	y := mat.NewDense(rows, width, nil)
	here := x
	e.dev.wait(stream, e.launch(ctx, copyEngine, e.copyIn, func() { here.Copy(input) }))
	for _, w := range e.weights {
		in := x
		out := y
		e.launch(ctx, stream, e.matmul[stream], func() { out.Mul(in, w) })
		e.launch(ctx, stream, e.relu[stream], func() {
			out.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, out)
		})
		x, y = y, x
	}
	// The compute stream copies its result out. In the copy engine, which works in order, copies of later requests
	// would wait for it.
	out := x
	return e.launch(ctx, stream, e.copyOut[stream], func() { result.Copy(out) })
}
