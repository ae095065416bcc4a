package optrace

import (
	"context"
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Recorder returns a Recorder that makes a span of each operation, below the
// span of ctx. A nil ctx is context.Background().
func (t *Tracer) Recorder(ctx context.Context) *Recorder {
	return newRecorder(ctx, t.emit, &t.shapes, nil)
}

// Recorder returns a Recorder that hands the operations to p, as entries below
// the span of ctx. No spans are made: other span processors do not see the
// operations. With an exporter behind p that takes spans only, they become
// spans of p's own making. Where ctx holds a span that is not sampled nothing
// is recorded, unless p was made with [WithRecordOnly].
func (p *Processor) Recorder(ctx context.Context) *Recorder {
	return newRecorder(ctx, p.emit, &p.shapes, p.mapping)
}

// emit makes spans of what r recorded.
func (t *Tracer) emit(r *Recorder) {
	for i := range r.ops {
		o := &r.ops[i]
		_, span := t.tracer.Start(r.ctx, o.name, trace.WithTimestamp(r.time(o.start)))
		if span.IsRecording() {
			span.SetAttributes(r.attributes(i)...)
			if o.failed {
				span.SetStatus(codes.Error, o.failure)
			}
		}
		span.End(trace.WithTimestamp(r.time(o.end)))
	}
}

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
	all := r.views(parent, p.rootAbove(parent), p.resourceOf(r.ctx))
	if views := p.pipeline.takingViews(); views != nil && p.cfg.filter == nil {
		views.onViews(all)
		return
	}
	for f := range all {
		s := f.view.snapshot()
		if p.cfg.filter != nil && !p.cfg.filter(s) {
			p.skipped.Add(1)
			continue
		}
		p.pipeline.onEnd(finished{span: s, context: s.SpanContext(), parent: parent, root: f.root})
	}
}

// rootAbove returns the local root at or above a span that has not ended.
func (p *Processor) rootAbove(parent trace.SpanContext) root {
	if !parent.IsValid() {
		return root{}
	}
	return p.roots.at(parent.TraceID(), op.SpanID(parent.SpanID()))
}

// resourceOf returns the resource of the span in ctx, or else of the spans
// that p has seen.
func (p *Processor) resourceOf(ctx context.Context) *resource.Resource {
	if s, ok := trace.SpanFromContext(ctx).(sdktrace.ReadOnlySpan); ok {
		return s.Resource()
	}
	return p.resource.Load()
}

// Current returns a copy of the operations that have ended and that the
// Recorder still holds, as the Exporter reads them but without ids. Operations
// without an iteration are numbered from 0.
func (r *Recorder) Current() *op.Trace {
	t := &op.Trace{}
	c := newConverter(r.mapping)
	var v spanView
	ended := len(r.ops)
	if r.open {
		ended--
	}
	for i := range ended {
		r.view(&v, i)
		e, ok := c.entry(&v, root{})
		if !ok {
			continue
		}
		e.Warn &^= op.WarnBadID // ids are given when the operation is emitted
		if !e.Step.Known {
			e.Step = op.Known(int64(i))
		}
		t.AddEntry(e)
	}
	return t
}

// views yields the operations below parent, one view for all.
func (r *Recorder) views(parent trace.SpanContext, above root, res *resource.Resource) iter.Seq[finished] {
	return func(yield func(finished) bool) {
		v := &spanView{parent: parent, resource: res}
		f := finished{view: v, root: above}
		context := parent.WithRemote(false).WithTraceFlags(parent.TraceFlags() | trace.FlagsSampled)
		if !parent.IsValid() {
			context = context.WithTraceID(newTraceID())
		}
		for i := range r.ops {
			v.context = context.WithSpanID(newSpanID())
			r.view(v, i)
			if !yield(f) {
				return
			}
		}
	}
}

// view sets what v says of operation i itself.
func (r *Recorder) view(v *spanView, i int) {
	o := &r.ops[i]
	v.name, v.scope = o.name, ScopeName
	v.start, v.end = r.time(o.start), r.time(o.end)
	v.attrs = r.attributes(i)
	v.status = sdktrace.Status{}
	if o.failed {
		v.status = sdktrace.Status{Code: codes.Error, Description: o.failure}
	}
}

// time returns the time of an offset.
func (r *Recorder) time(offset int64) time.Time { return r.base.Add(time.Duration(offset)) }

// attributes returns the attributes of operation i, of different keys. They are
// valid until the next call.
func (r *Recorder) attributes(i int) []attribute.KeyValue {
	o := &r.ops[i]
	inputs, output, further := r.inputs[o.inAt:], r.outputs[o.outAt:], r.attrs[o.attrsAt:]
	if i+1 < len(r.ops) {
		next := &r.ops[i+1]
		inputs, output, further = r.inputs[o.inAt:next.inAt], r.outputs[o.outAt:next.outAt], r.attrs[o.attrsAt:next.attrsAt]
	}
	attrs := r.scratch[:0]
	if o.prepared == nil {
		attrs = append(attrs, tensorconv.OpName(o.name))
	}
	if o.device != "" {
		attrs = append(attrs, tensorconv.DeviceID(o.device))
	}
	if len(inputs) > 0 {
		attrs = append(attrs, r.cache.Inputs(inputs))
	}
	if len(output) > 0 {
		attrs = append(attrs, r.cache.Output(output))
	}
	if o.dtype != "" {
		attrs = append(attrs, tensorconv.DType(o.dtype))
	}
	if o.hasStep {
		attrs = append(attrs, tensorconv.Step(o.step))
	}
	for _, kv := range further {
		attrs = setAttribute(attrs, kv)
	}
	if o.prepared != nil {
		if len(attrs) == 0 {
			return o.prepared.attrs
		}
		own := attrs
		for _, kv := range o.prepared.attrs {
			if !slices.ContainsFunc(own, func(have attribute.KeyValue) bool { return have.Key == kv.Key }) {
				attrs = append(attrs, kv)
			}
		}
	}
	r.scratch = attrs
	return attrs
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

// snapshot returns a copy of v as a finished span.
func (v *spanView) snapshot() sdktrace.ReadOnlySpan {
	s := &recordedSpan{view: *v}
	s.view.attrs = slices.Clone(v.attrs)
	return s
}

// recordedSpan is a finished span that no tracer has made.
type recordedSpan struct {
	sdktrace.ReadOnlySpan // nil, embedded for the interface's unexported method

	view spanView
}

func (s *recordedSpan) Name() string                     { return s.view.name }
func (s *recordedSpan) SpanContext() trace.SpanContext   { return s.view.context }
func (s *recordedSpan) Parent() trace.SpanContext        { return s.view.parent }
func (s *recordedSpan) SpanKind() trace.SpanKind         { return trace.SpanKindInternal }
func (s *recordedSpan) StartTime() time.Time             { return s.view.start }
func (s *recordedSpan) EndTime() time.Time               { return s.view.end }
func (s *recordedSpan) Attributes() []attribute.KeyValue { return s.view.attrs }
func (s *recordedSpan) Links() []sdktrace.Link           { return nil }
func (s *recordedSpan) Events() []sdktrace.Event         { return nil }
func (s *recordedSpan) Status() sdktrace.Status          { return s.view.status }
func (s *recordedSpan) Resource() *resource.Resource     { return s.view.resource }
func (s *recordedSpan) DroppedAttributes() int           { return s.view.dropped }
func (s *recordedSpan) DroppedLinks() int                { return 0 }
func (s *recordedSpan) DroppedEvents() int               { return 0 }
func (s *recordedSpan) ChildSpanCount() int              { return 0 }

func (s *recordedSpan) InstrumentationScope() instrumentation.Scope {
	return instrumentation.Scope{Name: s.view.scope, Version: Version}
}

// InstrumentationLibrary is part of the interface, deprecated there.
func (s *recordedSpan) InstrumentationLibrary() instrumentation.Scope {
	return s.InstrumentationScope()
}
