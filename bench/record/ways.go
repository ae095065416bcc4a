package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/op"
)

// way is a way to record operations.
type way struct {
	name string
	// record records operations one after the other, below the span of ctx.
	record func(ctx context.Context, w *ways, n int) error
}

// ways are what operations are recorded with: alone, or with a Processor and its Exporter behind.
type ways struct {
	one       operation
	provider  *sdktrace.TracerProvider
	byHand    trace.Tracer
	ours      *optrace.Tracer
	prep      *optrace.Prepared
	processor *optrace.Processor // takes nothing where it is not behind
	recorder  *optrace.Recorder
	whole     bool

	request context.Context
	end     func() // ends the request and the provider
}

// turn finishes a batch of the Recorder for every opsPerStep operations.
func (w *ways) turn(i int) {
	if i%opsPerStep == opsPerStep-1 {
		w.recorder.Finish()
	}
}

// allWays lists the ways in the order of the table.
var allWays = []way{
	{"your own tracer: `Start`, one `SetAttributes` with attributes made before, `End`", func(ctx context.Context, w *ways, n int) error {
		attrs := w.one.attrs[:len(w.one.attrs)-1]
		for range n {
			_, span := w.byHand.Start(ctx, w.one.Name)
			span.SetAttributes(attrs...)
			span.End()
		}
		return nil
	}},
	{"`Tracer.Start` … `In`, `Out`, `DType`, `End`", func(ctx context.Context, w *ways, n int) error {
		for range n {
			_, o := w.ours.Start(ctx, w.one.Name, w.one.Device)
			o.In(64, inner).In(inner, columns).Out(64, columns).DType(op.F32).End()
		}
		return nil
	}},
	{"`Prepared.Start` … `End`", func(ctx context.Context, w *ways, n int) error {
		for range n {
			_, o := w.prep.Start(ctx)
			o.End()
		}
		return nil
	}},
	{"`Prepared.Record`", func(ctx context.Context, w *ways, n int) error {
		for at := range times(n) {
			w.prep.Record(ctx, at)
		}
		return nil
	}},
	{"`Recorder.Begin`, `In`, `Out`, `DType` … `Finish`; no span", func(_ context.Context, w *ways, n int) error {
		for i := range n {
			w.recorder.Begin(w.one.Name, w.one.Device).In(64, inner).In(inner, columns).Out(64, columns).DType(op.F32)
			w.turn(i)
		}
		w.recorder.Finish()
		return nil
	}},
	{"`Recorder.RecordPrepared` … `Finish`; no span", func(_ context.Context, w *ways, n int) error {
		i := 0
		for at := range times(n) {
			w.recorder.RecordPrepared(w.prep, at)
			w.turn(i)
			i++
		}
		w.recorder.Finish()
		return nil
	}},
	{"`Queue` with a `Tracer`: `Begin`, `Launched`, `Poll` for every 64", func(ctx context.Context, w *ways, n int) error {
		return queued(ctx, w.ours, w.prep, n)
	}},
	{"`Queue` with a `Processor`: the same; no span", func(ctx context.Context, w *ways, n int) error {
		return queued(ctx, w.processor, w.prep, n)
	}},
}

// times yields the times of operations, one after the other.
func times(n int) func(yield func(optrace.Times) bool) {
	at := time.Now().UnixNano()
	return func(yield func(optrace.Times) bool) {
		for range n {
			at += 10_000
			if !yield(optrace.Times{Start: at, End: at + 9_000, Launch: at - 50_000}) {
				return
			}
		}
	}
}

// mark is an event that the device has reached.
type mark int64

// Time implements [optrace.Event].
func (m mark) Time() (int64, bool, error) { return int64(m), true, nil }

func queued(ctx context.Context, to optrace.Recording, prep *optrace.Prepared, n int) error {
	q, err := optrace.NewQueue[mark](to)
	if err != nil {
		return err
	}
	for i := range n {
		launch := q.Begin(ctx, prep)
		at := time.Now().UnixNano()
		q.Launched(launch, mark(at), mark(at+9_000))
		if i%64 == 63 {
			q.Poll()
		}
	}
	return q.Shutdown(ctx)
}

// newWays returns ways with a Processor behind them, or with a span processor that does nothing.
func newWays(whole bool) (*ways, error) {
	w := &ways{one: oneOp(), whole: whole}
	var err error
	if w.processor, err = newProcessor(optrace.WithPolicy(optrace.PolicyBlock)); err != nil {
		return nil, err
	}
	behind := sdktrace.SpanProcessor(w.processor)
	if !whole {
		behind = noopProcessor{}
		err = w.processor.Shutdown(context.Background()) // then it takes nothing
	}
	w.provider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(behind))
	w.byHand, w.ours = w.provider.Tracer("by hand"), optrace.NewTracer(w.provider)
	if err == nil {
		w.prep, err = w.ours.Prepare(w.one.OpSpec)
	}
	request, span := w.byHand.Start(context.Background(), "POST /predict")
	w.request, w.recorder = request, w.processor.Recorder(request)
	w.end = func() {
		span.End()
		_ = w.provider.Shutdown(context.Background()) // all has been flushed
	}
	return w, err
}

// side records n operations below a request.
func (w *ways) side(record func(context.Context, *ways, int) error, n int) measure.Side {
	return func(ctx context.Context) (measure.Sample, error) {
		return measure.Timed(int64(n), func() error {
			err := record(w.request, w, n)
			if w.whole {
				err = errors.Join(err, w.processor.ForceFlush(ctx)) // the last entry is with the writer
			}
			return err
		})
	}
}

// waysIntro says what was measured.
const waysIntro = `Processor time, bytes and allocations of one operation: ` + "`matmul`" + ` below an open request, sampled, with five
attributes: name, device, element type, two input shapes, an output shape. *Recording* is with one span processor, which does nothing.
*All* is with a ` + "`Processor`" + ` and an ` + "`Exporter`" + ` of entries to nowhere in its place: conversion, encoding and writing
included. A Recorder is used again, with a Finish for every %d operations. Ratios are to the first row.

Medians of %d rounds, in which the ways take turns, on a machine with other work to do: %s, %s.

`

const wayRounds = 31

func sideName(way, world int) string { return fmt.Sprintf("%d of %d", way, world) }

// Ways measures all ways to record an operation in rounds, in which they take turns, and returns a table of their
// costs in Markdown.
func Ways(ctx context.Context, env *measure.Env, now time.Time) (string, error) {
	sides := make(map[string]measure.Side)
	var worlds [2]*ways
	for i := range worlds {
		w, err := newWays(i == 1)
		if err != nil {
			return "", err
		}
		defer w.end()
		worlds[i] = w
		for j, way := range allWays {
			sides[sideName(j, i)] = w.side(way.record, env.Size(10_000, 10_000))
		}
	}
	rounds := env.Size(wayRounds, 9)
	if env.Trial {
		rounds = 1
	}
	samples, err := measure.Interleave(ctx, 1, rounds, sides)
	if err != nil {
		return "", err
	}
	if st := worlds[1].processor.Stats(); st.Dropped > 0 {
		return "", fmt.Errorf("%d operations were dropped", st.Dropped)
	}
	var b strings.Builder
	fmt.Fprintf(&b, waysIntro, opsPerStep, rounds, now.Format(time.DateOnly), measure.ThisMachine(env.Quick))
	b.WriteString("| way | recording | bytes | allocations | ratio | all | bytes | allocations | ratio |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	own := [2]measure.Cost{measure.CostOf(samples[sideName(0, 0)]), measure.CostOf(samples[sideName(0, 1)])}
	for j, way := range allWays {
		fmt.Fprintf(&b, "| %s |", way.name)
		for i := range worlds {
			c := measure.CostOf(samples[sideName(j, i)])
			fmt.Fprintf(&b, " %.2f µs | %.0f B | %.0f | %.2f |", c.NS/1000, c.Bytes, c.Allocs, c.NS/own[i].NS)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}
