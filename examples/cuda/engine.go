package main

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/deviceclock"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

const (
	deviceID = "cuda:0"

	// Operations of a step: a copy to the device, the layers, a copy back.
	opsPerStep = 2 + layers
)

// engine enqueues steps on a device and records them.
type engine struct {
	net      *network
	dev      *device
	requests trace.Tracer
	host     *optrace.Tracer
	queue    *optrace.Queue[*event]
	sent     int
	off      bool // recording is off
	timed    bool // steps are timed

	launched [numStreams][]launched      // in order, until the queue has read their times
	byHand   [numStreams][]time.Duration // times of kernels, read from their events

	// Launched operations, by stream if several streams run them.
	copyIn          *optrace.Prepared
	matmul, copyOut [numCompute]*optrace.Prepared
}

// launched is an operation with events in use.
type launched struct {
	start, end *event
	kernel     bool
}

func newEngine(net *network, sdk *optrace.SDK) (*engine, error) {
	e := &engine{net: net, dev: net.dev, requests: sdk.TracerProvider().Tracer("server"), host: sdk.Tracer()}
	clock := deviceclock.New(deviceclock.Config{Resolution: resolution})
	var err error
	e.queue, err = optrace.NewQueue[*event](sdk.Processor(), optrace.WithPolicy(optrace.PolicyBlock),
		optrace.WithDeviceClock(clock, 20*time.Millisecond, e.dev.clock.read))
	if err != nil {
		return nil, err
	}
	return e, e.prepare()
}

func (e *engine) prepare() error {
	n := int64(e.net.n)
	x := op.Shape{batch, n, n}
	w := op.Shape{n, n}
	var failed error
	prepare := func(stream int64, name string, kind op.Kind, flops op.Int, inputs ...op.Shape) *optrace.Prepared {
		p, err := e.host.Prepare(optrace.OpSpec{
			Name: name, Kind: kind, Device: deviceID, Stream: op.Known(stream),
			Inputs: inputs, Output: x, DType: op.F32, FLOPs: flops,
		})
		failed = errors.Join(failed, err)
		return p
	}
	e.copyIn = prepare(copyStream, "Memcpy HtoD", op.KindMemory, op.Int{}, x)
	for stream := range int64(numCompute) {
		e.matmul[stream] = prepare(stream, "matmul", op.KindCompute, op.Known(2*batch*n*n*n), x, w)
		e.copyOut[stream] = prepare(stream, "Memcpy DtoH", op.KindMemory, op.Int{}, x)
	}
	return failed
}

// launch enqueues an operation between two events. An engine needs only these lines, and polls of the queue, to record
// a device.
func (e *engine) launch(ctx context.Context, stream int, p *optrace.Prepared, enqueue func()) {
	if e.off {
		enqueue()
		return
	}
	l := e.queue.Begin(ctx, p)
	start := e.dev.mark(stream)
	enqueue()
	end := e.dev.mark(stream)
	if e.dev.err == nil {
		e.queue.Launched(l, start, end)
		e.launched[stream] = append(e.launched[stream], launched{start, end, p == e.matmul[stream%numCompute]})
	}
}

// reap releases events with times known to the queue. It first reads the kernels' times as a program without a recorder
// would, unless steps are timed.
func (e *engine) reap() {
	for stream, waiting := range e.launched {
		for len(waiting) > 0 && waiting[0].start.passed && waiting[0].end.passed {
			o := waiting[0]
			if o.kernel && !e.timed && e.dev.err == nil {
				var ns int64
				ns, e.dev.err = e.dev.between(o.start.handle, o.end.handle)
				e.byHand[stream] = append(e.byHand[stream], time.Duration(ns))
			}
			e.dev.free = append(e.dev.free, o.start, o.end)
			waiting = waiting[1:]
		}
		e.launched[stream] = waiting
	}
}

// step enqueues a step and returns its stream. The host does not wait. Steps alternate between the two compute streams.
func (e *engine) step(ctx context.Context) (stream int) {
	stream = firstCompute + e.sent%numCompute
	e.sent++
	if !e.off {
		var request trace.Span
		ctx, request = e.requests.Start(ctx, "POST /infer")
		defer request.End() // long before the device has run it
		var host optrace.Op
		ctx, host = e.host.Start(ctx, "enqueue", "cpu")
		defer host.Attrs(tensorconv.OpSideHost).End()
	}
	l := e.net.lanes[stream]
	e.dev.follow(copyStream, stream, l.mark) // the step before has read its input
	e.launch(ctx, copyStream, e.copyIn, func() { e.dev.copyIn(copyStream, l.first, l.input) })
	e.dev.follow(stream, copyStream, e.net.copied)
	for _, p := range l.products {
		e.launch(ctx, stream, e.matmul[stream], func() { e.dev.multiply(stream, p) })
	}
	// The compute stream copies its result out. In the copy stream, which works in order, copies of later steps would
	// wait for it.
	e.launch(ctx, stream, e.copyOut[stream], func() { e.dev.copyOut(stream, l.result, l.last) })
	return stream
}
