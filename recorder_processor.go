package optrace

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math/rand/v2"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/shapes"
	"github.com/optrace/optrace/op"
)

// Recorder returns a Recorder whose Finish hands the operations to p, as
// entries below the span of ctx. No spans are made: other span processors do
// not see the operations. With an exporter behind p that takes spans only,
// they become spans of p's own making. Where ctx holds a span that is not
// sampled nothing is recorded, unless p was made with [WithRecordOnly].
func (p *Processor) Recorder(ctx context.Context) *Recorder { return newRecorder(ctx, p.emit) }

// emit hands what r recorded to the pipeline.
func (p *Processor) emit(r *Recorder) {
	if p.pipeline == nil || p.stopped.Load() {
		return
	}
	defer p.recover("recording")
	parent := trace.SpanContextFromContext(r.ctx)
	if parent.IsValid() && !parent.IsSampled() && !p.cfg.recordOnly {
		return
	}
	res := p.resourceOf(r.ctx)
	traceID, above := parent.TraceID(), root{}
	if parent.IsValid() {
		above = p.roots.at(parent.TraceID(), op.SpanID(parent.SpanID()))
	} else {
		traceID = newTraceID()
	}
	if views := p.pipeline.takingViews(); views != nil && p.cfg.filter == nil {
		r.settleFailures()
		views.onViews(r.views(&p.shapes, parent, traceID, res, above))
		return
	}
	for i := range r.ops {
		s := r.snapshot(&p.shapes, &r.ops[i], parent, traceID, res)
		if p.cfg.filter != nil && !p.cfg.filter(s) {
			p.skipped.Add(1)
			continue
		}
		p.pipeline.onEnd(finished{span: s, context: s.SpanContext(), parent: parent, root: above})
	}
}

// settleFailures replaces errors, which are the application's, by their texts, so
// that nobody calls the application with a lock held.
func (r *Recorder) settleFailures() {
	if !r.failures {
		return
	}
	for i := range r.ops {
		if o := &r.ops[i]; o.failure != nil {
			o.failure = errors.New(o.failure.Error())
		}
	}
}

// views yields the operations, one view for all.
func (r *Recorder) views(
	cache *shapes.Cache, parent trace.SpanContext, traceID trace.TraceID, res *resource.Resource, above root,
) iter.Seq[finished] {
	return func(yield func(finished) bool) {
		v := &r.scratch.view
		defer func() { *v = spanView{} }()
		v.parent, v.resource, v.scope = parent, res, ScopeName
		context := trace.SpanContext{}.WithTraceID(traceID)
		for i := range r.ops {
			o := &r.ops[i]
			v.context = context.WithSpanID(newSpanID())
			v.name, v.start, v.end = o.spanName(), r.time(o.start), r.time(o.end)
			v.attrs, v.status = r.attributes(cache, o), o.status()
			if !yield(finished{view: v, root: above}) {
				return
			}
		}
	}
}

// resourceOf returns the resource of the span in ctx, or else of the spans
// that p has seen.
func (p *Processor) resourceOf(ctx context.Context) *resource.Resource {
	if s, ok := trace.SpanFromContext(ctx).(sdktrace.ReadOnlySpan); ok {
		return s.Resource()
	}
	return p.resource.Load()
}

func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:8], rand.Uint64())
		binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}
