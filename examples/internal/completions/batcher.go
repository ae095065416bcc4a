package completions

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Batcher is an [Engine] that works for several requests at once, as inference engines do: each step takes all requests of a
// batch further, and requests join and leave between steps. A request has a span for each of its phases: queue, prefill until
// its first token, and decode.
type Batcher struct {
	// Step takes the requests of a batch further, and adds a token to each of which everything is read.
	Step func(number int64, batch []*Sequence) error
	// Leave is called for a request that leaves the batch; nil does nothing.
	Leave func(*Sequence) error

	expect  func(ctx context.Context)
	waiting chan *Sequence
	stopped chan struct{} // closed once no request is worked for any more
	free    []int         // slots
}

// Sequence is a request that a Batcher works for.
type Sequence struct {
	Phase trace.Span
	Slot  int    // in the batch
	Input []byte // what has not been read yet: the prompt, then the last token
	Text  []byte // the tokens generated

	request context.Context // of its span
	left    int             // tokens still to be generated
	done    chan struct{}
}

// NewBatcher returns an engine for that many requests at once. The function is [optrace.Processor.Expect], by which the spans
// of a request are kept although its operations are yet to come.
func NewBatcher(size int, expect func(ctx context.Context)) *Batcher {
	b := &Batcher{expect: expect, waiting: make(chan *Sequence), stopped: make(chan struct{})}
	for slot := range size {
		b.free = append(b.free, slot)
	}
	return b
}

// Generate implements [Engine].
func (b *Batcher) Generate(ctx context.Context, prompt string, n int) (string, error) {
	trace.SpanFromContext(ctx).SetAttributes(
		attribute.Int("gen_ai.usage.input_tokens", len(prompt)), attribute.Int("gen_ai.usage.output_tokens", n))
	s := &Sequence{request: ctx, Input: []byte(prompt), left: n, done: make(chan struct{})}
	b.expect(ctx)
	s.enter("queue")
	joining := b.waiting
	for {
		var err error
		select {
		case joining <- s:
			joining = nil
			continue
		case <-s.done:
			return string(s.Text), nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-b.stopped:
			err = errors.New("the engine has stopped")
		}
		if joining != nil {
			s.Phase.End()
		}
		return "", err
	}
}

// enter ends the phase of a request and begins another one.
func (s *Sequence) enter(phase string) {
	if s.Phase != nil {
		s.Phase.End()
	}
	tracer := trace.SpanFromContext(s.request).TracerProvider().Tracer("example.com/engine")
	_, s.Phase = tracer.Start(s.request, phase)
}

// Add adds a token to the text, which the next step reads.
func (s *Sequence) Add(token byte) {
	if len(s.Text) == 0 {
		s.enter("decode")
	}
	s.Text, s.Input = append(s.Text, token), []byte{token}
	s.left--
}

// Run takes steps until ctx is done.
func (b *Batcher) Run(ctx context.Context) error {
	defer close(b.stopped)
	var batch []*Sequence
	defer func() {
		for _, s := range batch {
			s.Phase.End()
		}
	}()
	for number := int64(0); ; number++ {
		if batch = b.admit(ctx, batch); len(batch) == 0 || ctx.Err() != nil {
			return nil
		}
		if err := b.Step(number, batch); err != nil {
			return err
		}
		var err error
		if batch, err = b.leave(batch); err != nil {
			return err
		}
	}
}

// admit adds the requests that wait to the batch, as far as there is room. It waits for one where
// the batch is empty, until ctx is done.
func (b *Batcher) admit(ctx context.Context, batch []*Sequence) []*Sequence {
	for len(b.free) > 0 {
		var s *Sequence
		select {
		case s = <-b.waiting:
		default:
			if len(batch) > 0 {
				return batch
			}
			select {
			case s = <-b.waiting:
			case <-ctx.Done():
				return nil
			}
		}
		s.Slot, b.free = b.free[0], b.free[1:]
		s.enter("prefill")
		batch = append(batch, s)
	}
	return batch
}

// leave removes the requests from the batch that are done or that nobody waits for.
func (b *Batcher) leave(batch []*Sequence) ([]*Sequence, error) {
	staying := batch[:0]
	for _, s := range batch {
		if s.left > 0 && s.request.Err() == nil {
			staying = append(staying, s)
			continue
		}
		s.Phase.End()
		close(s.done)
		if b.Leave != nil {
			if err := b.Leave(s); err != nil {
				return nil, err
			}
		}
		b.free = append(b.free, s.Slot)
	}
	return staying, nil
}
