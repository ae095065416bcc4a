package main

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/tensorconv"
)

// engine generates text for several requests at once.
type engine struct {
	tracer  trace.Tracer
	expect  func(ctx context.Context) // keeps the spans of a trace whose operations are yet to come
	model   *model
	waiting chan *sequence
	stopped chan struct{} // closed once no request is worked for any more
	free    []int         // numbers of sequences
}

// sequence is a request that the engine works for.
type sequence struct {
	ctx   context.Context // of the request's span
	phase trace.Span      // queue, prefill or decode
	id    int

	input    []byte // what has not been read yet: the prompt, then the last token
	position int    // of the first of them
	text     []byte
	left     int // tokens still to be generated
	done     chan struct{}

	reads, place int // of the step: tokens, and the place of the last one
}

var errStopped = errors.New("the engine has stopped")

func newEngine(sdk *optrace.SDK, m *model) *engine {
	e := &engine{
		tracer: sdk.TracerProvider().Tracer("example.com/engine"), expect: sdk.Processor().Expect,
		model: m, waiting: make(chan *sequence), stopped: make(chan struct{}),
	}
	for id := range maxSequences {
		e.free = append(e.free, id)
	}
	return e
}

// Generate implements [completions.Engine]. Below the span of the request are its phases.
func (e *engine) Generate(ctx context.Context, prompt string, n int) (string, error) {
	trace.SpanFromContext(ctx).SetAttributes(
		attribute.Int("gen_ai.usage.input_tokens", len(prompt)), attribute.Int("gen_ai.usage.output_tokens", n))
	s := &sequence{ctx: ctx, input: []byte(prompt), left: n, done: make(chan struct{})}
	e.expect(ctx)
	e.enter(s, "queue")
	select {
	case e.waiting <- s:
	case <-ctx.Done():
		s.phase.End()
		return "", context.Cause(ctx)
	case <-e.stopped:
		s.phase.End()
		return "", errStopped
	}
	select {
	case <-s.done:
		return string(s.text), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-e.stopped:
		return "", errStopped
	}
}

func (e *engine) enter(s *sequence, phase string) {
	if s.phase != nil {
		s.phase.End()
	}
	_, s.phase = e.tracer.Start(s.ctx, phase)
}

// Run takes steps until ctx is done.
func (e *engine) Run(ctx context.Context) error {
	defer close(e.stopped)
	var batch []*sequence
	defer func() {
		for _, s := range batch {
			s.phase.End()
		}
	}()
	for {
		if batch = e.admit(ctx, batch); len(batch) == 0 || ctx.Err() != nil {
			return nil
		}
		if err := e.step(batch); err != nil {
			return err
		}
		var err error
		if batch, err = e.leave(batch); err != nil {
			return err
		}
	}
}

// admit adds the requests that wait to the batch, as far as there is room. It waits for one where
// the batch is empty, until ctx is done.
func (e *engine) admit(ctx context.Context, batch []*sequence) []*sequence {
	for len(e.free) > 0 {
		var s *sequence
		select {
		case s = <-e.waiting:
		default:
			if len(batch) > 0 {
				return batch
			}
			select {
			case s = <-e.waiting:
			case <-ctx.Done():
				return nil
			}
		}
		s.id, e.free = e.free[0], e.free[1:]
		e.enter(s, "prefill")
		batch = append(batch, s)
	}
	return batch
}

// step takes the requests further: those that generate by a token, and the prompts of the others as
// far as there is room. Its span belongs to no single request: it links to all of them, and the
// links weigh the tokens that it reads for each, and the pairs of tokens that attention compares.
func (e *engine) step(batch []*sequence) error {
	room, at := maxBatch, 0
	var links []trace.Link
	for _, decoding := range []bool{true, false} {
		for _, s := range batch {
			if (len(s.text) > 0) != decoding {
				continue
			}
			s.reads = min(room, len(s.input))
			if s.reads == 0 {
				continue
			}
			if err := e.model.add(s.id, s.position, s.input[:s.reads], s.reads == len(s.input)); err != nil {
				return err
			}
			room, at = room-s.reads, at+s.reads
			s.place = at - 1
			pairs := tensorconv.AttentionPairs(int64(s.position), int64(s.reads))
			links = append(links, tensorconv.Link(s.phase.SpanContext(), int64(s.reads), tensorconv.LinkWeightAttention(pairs)))
		}
	}
	ctx, span := e.tracer.Start(context.Background(), "step", trace.WithLinks(links...), trace.WithAttributes(attribute.Int("tokens", at)))
	err := e.model.step(ctx)
	span.End()
	if err != nil {
		return err
	}
	return e.advance(batch)
}

// advance gives a token to each request whose tokens have all been read.
func (e *engine) advance(batch []*sequence) error {
	for _, s := range batch {
		s.input, s.position = s.input[s.reads:], s.position+s.reads
		if len(s.input) > 0 {
			continue
		}
		token, err := e.model.sample(s.place)
		if err != nil {
			return err
		}
		if len(s.text) == 0 {
			e.enter(s, "decode")
		}
		s.text, s.input = append(s.text, token), []byte{token}
		s.left--
	}
	return nil
}

// leave removes the requests from the batch that are done or that nobody waits for.
func (e *engine) leave(batch []*sequence) ([]*sequence, error) {
	staying := batch[:0]
	for _, s := range batch {
		if s.left > 0 && s.ctx.Err() == nil {
			staying = append(staying, s)
			continue
		}
		s.phase.End()
		close(s.done)
		if err := e.model.forget(s.id); err != nil {
			return nil, err
		}
		e.free = append(e.free, s.id)
	}
	return staying, nil
}
