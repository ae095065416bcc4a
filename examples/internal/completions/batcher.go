package completions

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/tensorconv"
)

// Batcher generates texts for several requests at once: each step advances all requests of a batch, and requests join
// and leave between steps. A request has a span for each phase: queue, prefill until the first token, and decode.
type Batcher struct {
	// Step advances the requests of a batch. It adds a token to each request with no input left.
	Step func(number int64, batch []*Sequence) error
	// Leave is called for a request that leaves the batch. It may be nil.
	Leave func(*Sequence) error

	keep    func(ctx context.Context)
	waiting chan *Sequence
	stopped chan struct{} // closed at the end of Run
	free    []int         // slots
}

// Sequence is a request of a Batcher.
type Sequence struct {
	Phase trace.Span
	Slot  int    // in the batch
	Input []byte // unread tokens: the prompt, then the last token
	Text  []byte // the tokens generated

	Left int // tokens to generate

	request context.Context // holds its span
	done    chan struct{}
}

// NewBatcher returns an engine for size requests at once. keep is [optrace.Processor.KeepTrace]: it keeps a request's
// spans for its later operations.
func NewBatcher(size int, keep func(ctx context.Context)) *Batcher {
	b := &Batcher{keep: keep, waiting: make(chan *Sequence), stopped: make(chan struct{})}
	for slot := range size {
		b.free = append(b.free, slot)
	}
	return b
}

// NewSequence returns a request with its phase "queue". ctx holds the request's span.
func (b *Batcher) NewSequence(ctx context.Context, prompt string, n int) *Sequence {
	s := &Sequence{request: ctx, Input: []byte(prompt), Left: n, done: make(chan struct{})}
	b.keep(ctx)
	s.Enter("queue")
	return s
}

// Generate returns n tokens after the prompt. ctx holds the request's span.
func (b *Batcher) Generate(ctx context.Context, prompt string, n int) (string, error) {
	trace.SpanFromContext(ctx).SetAttributes(
		attribute.Int("gen_ai.usage.input_tokens", len(prompt)), attribute.Int("gen_ai.usage.output_tokens", n))
	s := b.NewSequence(ctx, prompt, n)
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

// Enter ends the current phase and begins another one.
func (s *Sequence) Enter(phase string) {
	if s.Phase != nil {
		s.Phase.End()
	}
	tracer := trace.SpanFromContext(s.request).TracerProvider().Tracer("example.com/engine")
	_, s.Phase = tracer.Start(s.request, phase)
}

// Add adds a token to the text, as input of the next step.
func (s *Sequence) Add(token byte) {
	if len(s.Text) == 0 {
		s.Enter("decode")
	}
	s.Text = append(s.Text, token)
	s.Input = []byte{token}
	s.Left--
}

// Phase returns the phase of a step for a batch: prefill if it reads prompts only, decode if none, otherwise mixed.
func Phase(batch []*Sequence) attribute.KeyValue {
	prompts := 0
	for _, s := range batch {
		if len(s.Text) == 0 {
			prompts++
		}
	}
	switch prompts {
	case 0:
		return tensorconv.Phase("decode")
	case len(batch):
		return tensorconv.Phase("prefill")
	}
	return tensorconv.Phase("mixed")
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

// admit adds waiting requests to the batch while it has room. With an empty batch it waits for one until ctx is done.
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
		s.Slot = b.free[0]
		b.free = b.free[1:]
		s.Enter("prefill")
		batch = append(batch, s)
	}
	return batch
}

// leave removes finished and cancelled requests from the batch.
func (b *Batcher) leave(batch []*Sequence) ([]*Sequence, error) {
	staying := batch[:0]
	for _, s := range batch {
		if s.Left > 0 && s.request.Err() == nil {
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
