package main

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/completions"
	"github.com/optrace/optrace/tensorconv"
)

const maxBatch = 16

// engine generates text for several requests at once, one token per step.
type engine struct {
	tracer trace.Tracer
	model  *model
}

func newEngine(sdk *optrace.SDK) *completions.Batcher {
	e := &engine{tracer: sdk.TracerProvider().Tracer("example.com/engine"), model: newModel(sdk.Tracer())}
	batcher := completions.NewBatcher(maxBatch, sdk.Processor().KeepTrace)
	batcher.Step = e.step
	return batcher
}

// step generates one token for each request. Its span links to all requests. The links weigh the tokens read for each.
func (e *engine) step(number int64, batch []*completions.Sequence) error {
	links := make([]trace.Link, len(batch))
	for i, s := range batch {
		links[i] = tensorconv.Link(s.Phase.SpanContext(), int64(len(s.Input)))
	}
	ctx, span := e.tracer.Start(context.Background(), "step", trace.WithLinks(links...))
	defer span.End()
	span.SetAttributes(completions.Phase(batch))
	e.model.forward(optrace.ContextWithStep(ctx, number), batch)
	return nil
}
