package main

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/tensorconv"
)

const maxBatch = 16

// engine generates text for several requests at once. A step takes each of them
// further by one token; requests join and leave between steps.
type engine struct {
	tracer  trace.Tracer
	model   *model
	waiting chan *sequence
	stopped chan struct{}
}

// sequence is a request that the engine works for.
type sequence struct {
	request trace.SpanContext
	state   []float64
	input   []byte // what the next step reads: the prompt, then the last token
	text    []byte
	left    int // tokens still to be generated
	done    chan struct{}
	gone    <-chan struct{} // closed once nobody waits any more
}

func newEngine(provider trace.TracerProvider) *engine {
	return &engine{
		tracer:  provider.Tracer("example.com/engine"),
		model:   newModel(optrace.NewTracer(provider)),
		waiting: make(chan *sequence),
		stopped: make(chan struct{}),
	}
}

// Generate implements [completions.Engine].
func (e *engine) Generate(ctx context.Context, prompt string, n int) (string, error) {
	s := &sequence{
		request: trace.SpanContextFromContext(ctx), state: make([]float64, width),
		input: []byte(prompt), left: n, done: make(chan struct{}), gone: ctx.Done(),
	}
	select {
	case e.waiting <- s:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-e.stopped:
		return "", context.Canceled
	}
	select {
	case <-s.done:
		return string(s.text), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-e.stopped:
		return "", context.Canceled
	}
}

// Run takes steps until ctx is done.
func (e *engine) Run(ctx context.Context) error {
	defer close(e.stopped)
	var batch []*sequence
	for step := int64(0); ; step++ {
		if batch = e.admit(ctx, batch); len(batch) == 0 {
			return nil
		}
		e.step(step, batch)
		batch = leave(batch)
	}
}

// admit adds the requests that wait to the batch, as far as there is room. It waits
// for one where the batch is empty, and returns an empty batch once ctx is done.
func (e *engine) admit(ctx context.Context, batch []*sequence) []*sequence {
	if len(batch) == 0 {
		select {
		case s := <-e.waiting:
			batch = append(batch, s)
		case <-ctx.Done():
			return nil
		}
	}
	for len(batch) < maxBatch {
		select {
		case s := <-e.waiting:
			batch = append(batch, s)
		case <-ctx.Done():
			return nil
		default:
			return batch
		}
	}
	return batch
}

// step takes every request of the batch further by one token. The span belongs to no
// single request: it links to all of them, and the links weigh the tokens that it reads
// for each.
func (e *engine) step(number int64, batch []*sequence) {
	links := make([]trace.Link, len(batch))
	for i, s := range batch {
		links[i] = tensorconv.Link(s.request, int64(len(s.input)))
	}
	ctx, span := e.tracer.Start(context.Background(), "step", trace.WithLinks(links...))
	defer span.End()
	e.model.forward(optrace.ContextWithStep(ctx, number), batch)
}

// leave removes the requests from the batch that are done or that nobody waits for.
func leave(batch []*sequence) []*sequence {
	staying := batch[:0]
	for _, s := range batch {
		select {
		case <-s.gone:
			continue
		default:
		}
		if s.left == 0 {
			close(s.done)
			continue
		}
		staying = append(staying, s)
	}
	return staying
}
