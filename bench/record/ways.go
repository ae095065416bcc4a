package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// world has the means to record an operation, with or without a Processor and its Exporter behind.
type world struct {
	spec      optrace.OpSpec
	attrs     []attribute.KeyValue // for a span by hand
	byHand    trace.Tracer
	ours      *optrace.Tracer
	prep      *optrace.Prepared
	processor *optrace.Processor // shut down unless operations are written
	recorder  *optrace.Recorder
	queues    [2]*optrace.Queue[mark] // of the Tracer and of the Processor
	end       func()                  // ends the request and the provider
}

// allWays lists the ways to record, in the order of the table. record is called for each operation
// with its number, below the span of ctx.
var allWays = []struct {
	name   string
	record func(ctx context.Context, w *world, i int)
}{
	{"your own tracer: `Start`, one `SetAttributes` with attributes made before, `End`",
		func(ctx context.Context, w *world, _ int) {
			_, span := w.byHand.Start(ctx, w.spec.Name)
			span.SetAttributes(w.attrs...)
			span.End()
		}},
	{"`Tracer.Start` … `In`, `Out`, `DType`, `End`", func(ctx context.Context, w *world, _ int) {
		_, o := w.ours.Start(ctx, w.spec.Name, w.spec.Device)
		o.In(64, 784).In(784, 256).Out(64, 256).DType(op.F32).End()
	}},
	{"`Prepared.Start` … `End`", func(ctx context.Context, w *world, _ int) {
		_, o := w.prep.Start(ctx)
		o.End()
	}},
	{"`Prepared.Record`", func(ctx context.Context, w *world, i int) { w.prep.Record(ctx, times(i)) }},
	{"`Recorder.Begin`, `In`, `Out`, `DType` … `Finish`; no span", func(_ context.Context, w *world, i int) {
		w.recorder.Begin(w.spec.Name, w.spec.Device).In(64, 784).In(784, 256).Out(64, 256).DType(op.F32)
		w.turn(i)
	}},
	{"`Recorder.RecordPrepared` … `Finish`; no span", func(_ context.Context, w *world, i int) {
		w.recorder.RecordPrepared(w.prep, times(i))
		w.turn(i)
	}},
	{"`Queue` with a `Tracer`: `Begin`, `Launched`, `Poll` for every 64", func(ctx context.Context, w *world, i int) {
		w.launch(ctx, w.queues[0], i)
	}},
	{"`Queue` with a `Processor`: the same; no span", func(ctx context.Context, w *world, i int) {
		w.launch(ctx, w.queues[1], i)
	}},
}

// turn finishes a batch of the Recorder after every opsPerStep operations.
func (w *world) turn(i int) {
	if i%opsPerStep == opsPerStep-1 {
		w.recorder.Finish()
	}
}

var origin = time.Now().UnixNano()

// times returns the times of the i-th operation.
func times(i int) optrace.Times {
	at := origin + int64(i)*10_000
	return optrace.Times{Start: at, End: at + 9_000, Launch: at - 50_000}
}

// mark is an event that the device has reached.
type mark int64

// Time implements [optrace.Event].
func (m mark) Time() (int64, bool, error) { return int64(m), true, nil }

// launch records an operation with a Queue.
func (w *world) launch(ctx context.Context, q *optrace.Queue[mark], i int) {
	launch := q.Begin(ctx, w.prep)
	at := time.Now().UnixNano()
	q.Launched(launch, mark(at), mark(at+9_000))
	if i%64 == 63 {
		q.Poll()
	}
}

// newWorld records into a Processor if whole is set, otherwise into a span processor that does
// nothing. It returns the sides by name.
func newWorld(ctx context.Context, whole bool, n int) (*world, map[string]measure.Side, error) {
	w := &world{spec: oneOp()}
	w.attrs = []attribute.KeyValue{
		tensorconv.OpName(w.spec.Name), tensorconv.DeviceID(w.spec.Device), tensorconv.DType(w.spec.DType),
		tensorconv.InputShapes(w.spec.Inputs[0], w.spec.Inputs[1]), tensorconv.OutputShape(w.spec.Output...),
	}
	var err error
	if w.processor, err = newProcessor(optrace.WithPolicy(optrace.PolicyBlock)); err != nil {
		return nil, nil, err
	}
	behind := sdktrace.SpanProcessor(w.processor)
	if !whole {
		behind = noopProcessor{}
		err = w.processor.Shutdown(ctx) // its Recorder then drops everything
	}
	provider := newProvider(behind)
	w.byHand = provider.Tracer("by hand")
	w.ours = optrace.NewTracer(provider)
	var failed error
	w.prep, failed = w.ours.Prepare(w.spec)
	request, span := w.byHand.Start(ctx, "POST /predict")
	w.recorder = w.processor.Recorder(request)
	for i, to := range []optrace.Recording{w.ours, w.processor} {
		q, err := optrace.NewQueue[mark](to)
		failed = errors.Join(failed, err)
		w.queues[i] = q
	}
	w.end = func() {
		span.End()
		_ = provider.Shutdown(context.Background()) // everything has been flushed
	}
	sides := make(map[string]measure.Side)
	for _, way := range allWays {
		sides[fmt.Sprint(way.name, whole)] = func(ctx context.Context) (measure.Sample, error) {
			return measure.Timed(int64(n), func() error {
				for i := range n {
					way.record(request, w, i)
				}
				w.recorder.Finish()
				err := errors.Join(w.queues[0].ForceFlush(ctx), w.queues[1].ForceFlush(ctx))
				if whole {
					err = errors.Join(err, w.processor.ForceFlush(ctx)) // until the writer has the last entry
				}
				return err
			})
		}
	}
	return w, sides, errors.Join(err, failed)
}

const waysIntro = `Processor time, bytes and allocations of one operation: ` + "`matmul`" + ` below an open request, sampled, with five
attributes: name, device, element type, two input shapes, an output shape. *Recording* is with one span processor, which does nothing.
*All* is with a ` + "`Processor`" + ` and an ` + "`Exporter`" + ` of entries to nowhere in its place: conversion, encoding and writing
included. A Recorder is used again, with a Finish for every %d operations. Ratios are to the first row.

Medians of %d rounds, in which the ways take turns, on a machine with other work to do: %s, %s.

| way | recording | bytes | allocations | ratio | all | bytes | allocations | ratio |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
`

// Ways measures all ways to record an operation in turns and returns a table of their costs in Markdown.
func Ways(ctx context.Context, env *measure.Env, now time.Time) (string, error) {
	const ops = 10_000
	alone, sides, err := newWorld(ctx, false, env.Size(ops, ops))
	if err != nil {
		return "", err
	}
	defer alone.end()
	whole, more, err := newWorld(ctx, true, env.Size(ops, ops))
	if err != nil {
		return "", err
	}
	defer whole.end()
	maps.Copy(sides, more)
	rounds := env.Rounds(31, 9)
	samples, err := measure.Interleave(ctx, 1, rounds, sides, nil)
	if err != nil {
		return "", err
	}
	if st := whole.processor.Stats(); st.Dropped > 0 {
		return "", fmt.Errorf("%d operations were dropped", st.Dropped)
	}
	var b strings.Builder
	fmt.Fprintf(&b, waysIntro, opsPerStep, rounds, now.Format(time.DateOnly), measure.Machine(env.Quick))
	for _, way := range allWays {
		fmt.Fprintf(&b, "| %s |", way.name)
		for _, whole := range []bool{false, true} {
			c := measure.CostOf(samples[fmt.Sprint(way.name, whole)])
			ratio := c.NS / measure.CostOf(samples[fmt.Sprint(allWays[0].name, whole)]).NS
			fmt.Fprintf(&b, " %.2f µs | %.0f B | %.0f | %.2f |", c.NS/1000, c.Bytes, c.Allocs, ratio)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

type noopProcessor struct{}

func (noopProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (noopProcessor) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (noopProcessor) Shutdown(context.Context) error                  { return nil }
func (noopProcessor) ForceFlush(context.Context) error                { return nil }
