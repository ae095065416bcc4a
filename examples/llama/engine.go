package main

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/completions"
	"github.com/optrace/optrace/tensorconv"
)

// engine generates text for several requests at once.
type engine struct {
	tracer trace.Tracer
	model  *model
	slots  [maxSequences]slot
}

// slot is the progress of a request.
type slot struct {
	position     int // of the first unread token
	reads, place int // of the step: number of tokens, place of the last one
}

func newEngine(sdk *optrace.SDK, m *model) *completions.Batcher {
	e := &engine{tracer: sdk.TracerProvider().Tracer("example.com/engine"), model: m}
	batcher := completions.NewBatcher(maxSequences, sdk.Processor().KeepTrace)
	batcher.Step = e.step
	batcher.Leave = e.leave
	return batcher
}

// step advances requests in decode by one token, and prompts as far as there is room. Its span links to all requests.
// The links weigh the tokens read for each, and the pairs of tokens in attention.
func (e *engine) step(_ int64, batch []*completions.Sequence) error {
	room := e.model.tokens
	at := 0
	var links []trace.Link
	for _, decoding := range []bool{true, false} {
		for _, s := range batch {
			if (len(s.Text) > 0) != decoding {
				continue
			}
			l := &e.slots[s.Slot]
			l.reads = min(room, len(s.Input))
			if l.reads == 0 {
				continue
			}
			if err := e.model.add(s.Slot, l.position, s.Input[:l.reads], l.reads == len(s.Input)); err != nil {
				return err
			}
			room -= l.reads
			at += l.reads
			l.place = at - 1
			pairs := tensorconv.AttentionPairs(int64(l.position), int64(l.reads))
			weight := tensorconv.LinkWeightAttention(pairs)
			links = append(links, tensorconv.Link(s.Phase.SpanContext(), int64(l.reads), weight))
		}
	}
	ctx, span := e.tracer.Start(context.Background(), "step",
		trace.WithLinks(links...), trace.WithAttributes(attribute.Int("tokens", at), completions.Phase(batch)))
	err := e.model.step(ctx)
	span.End()
	if err != nil {
		return err
	}
	return e.advance(batch)
}

// advance samples a token for each request with no unread tokens.
func (e *engine) advance(batch []*completions.Sequence) error {
	for _, s := range batch {
		l := &e.slots[s.Slot]
		s.Input = s.Input[l.reads:]
		l.position += l.reads
		if len(s.Input) > 0 {
			continue
		}
		token, err := e.model.sample(l.place)
		if err != nil {
			return err
		}
		s.Add(token)
	}
	return nil
}

func (e *engine) leave(s *completions.Sequence) error {
	e.slots[s.Slot] = slot{}
	return e.model.forget(s.Slot)
}
