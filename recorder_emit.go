package optrace

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/pipeline"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Recorder returns a Recorder that makes a span of each operation, below the span of ctx. A nil ctx is
// context.Background().
func (t *Tracer) Recorder(ctx context.Context) *Recorder {
	t = t.orOff()
	return newRecorder(ctx, t.emit, &t.shapes, nil)
}

// Recorder returns a Recorder that gives its operations to p, as entries below the span of ctx. Other span processors
// do not see them. A forwarder makes spans of them. Below an unsampled span the Recorder records only if p has
// [WithRecordOnly], as the Processor of [Setup] has. The Recorder of a nil or zero Processor is nil.
func (p *Processor) Recorder(ctx context.Context) *Recorder {
	if p.isOff() {
		return nil
	}
	r := newRecorder(ctx, p.emit, p.shapes, p.mapping)
	r.root, _ = p.expect(r.ctx)
	return r
}

// KeepTrace makes p write every span of ctx's trace as it ends, for operations recorded later. Without it ended spans
// wait in memory for operations below them. This memory may not suffice if requests end long before their operations,
// or many at once; see LostParents of [Stats]. [Processor.Recorder] and the Begin of a [Queue] of p call KeepTrace. A
// Processor remembers about the last 16,000 traces.
func (p *Processor) KeepTrace(ctx context.Context) {
	if ctx != nil && !p.isOff() {
		p.expect(ctx)
	}
}

// expect notes that operations below the span of ctx follow. It returns their local root, if known, and whether p will
// take them.
func (p *Processor) expect(ctx context.Context) (root span.Root, taken bool) {
	defer p.recover("looking for the span above operations", nil)
	taken = true // after a panic here, recording the operations counts them
	parent := trace.SpanContextFromContext(ctx)
	if !parent.IsValid() {
		return root, taken
	}
	if taken = p.takes(parent); taken && p.exp != nil {
		p.exp.traces.Add(op.TraceID(parent.TraceID()))
	}
	return p.rootAbove(parent), taken
}

// emit makes spans of r's operations. A panic loses one operation only.
func (t *Tracer) emit(r *Recorder) {
	for next := 0; next < len(r.ops); {
		t.emitFrom(r, &next)
	}
}

// emitFrom makes spans of the operations from next on, until the first panic.
func (t *Tracer) emitFrom(r *Recorder, next *int) {
	defer t.recover()
	for *next < len(r.ops) {
		i := *next
		*next++
		o := &r.ops[i]
		if o.unix && (o.start <= 0 || o.end <= 0) {
			t.errs.Report(noTimes(o.name))
			continue
		}
		_, s := t.tracer.Start(r.ctx, o.name, trace.WithTimestamp(o.time(r, o.start)))
		if s.IsRecording() {
			s.SetAttributes(r.attributes(i)...)
			if o.failed {
				s.SetStatus(codes.Error, o.failure)
			}
		}
		s.End(trace.WithTimestamp(o.time(r, o.end)))
	}
}

// recover keeps a panic from reaching the application's Finish.
func (t *Tracer) recover() {
	if r := recover(); r != nil {
		t.errs.Report(fmt.Errorf("optrace: making a span of a recorded operation panicked: %v", r))
	}
}

// emit gives the operations of r to the pipeline.
func (p *Processor) emit(r *Recorder) {
	left := uint64(len(r.ops)) // not yet given to the pipeline
	defer p.recover("recording", &left)
	parent := trace.SpanContextFromContext(r.ctx)
	if parent.IsValid() && !p.takes(parent) {
		p.skipped.Add(left)
		left = 0
		return
	}
	parent = p.recorded(parent)
	all := r.ended(parent, cmp.Or(p.rootAbove(parent), r.root), p.stated(p.resourceOf(r.ctx)))
	if many, ok := p.pipeline.(pipeline.Many); ok && p.cfg.filter == nil {
		left = 0 // from here on the pipeline counts them
		many.OnEnds(all)
		return
	}
	for e := range all {
		admitted := p.admit(&e)
		left--
		if admitted {
			p.pipeline.OnEnd(e)
		}
	}
}

// rootAbove returns the local root of the open span parent, or parent itself if it is one.
func (p *Processor) rootAbove(parent trace.SpanContext) span.Root {
	if !parent.IsValid() {
		return span.Root{}
	}
	return p.roots.At(parent.TraceID(), op.SpanID(parent.SpanID()))
}

// resourceOf returns the resource of the span in ctx, or else of p's other spans.
func (p *Processor) resourceOf(ctx context.Context) *resource.Resource {
	if s, ok := trace.SpanFromContext(ctx).(sdktrace.ReadOnlySpan); ok {
		return s.Resource()
	}
	return cmp.Or(p.resource.Load(), p.expected)
}

// Current returns copies of the ended operations in the Recorder, without ids. Operations without an iteration are
// numbered from 0.
func (r *Recorder) Current() []op.Entry {
	if r.isOff() {
		return nil
	}
	var current []op.Entry
	c := convert.New(r.mapping, 0)
	var d span.Data
	ended := len(r.ops)
	if r.open {
		ended--
	}
	for i := range ended {
		r.read(&d, i)
		e, ok := c.Entry(&d, span.Root{})
		if !ok {
			continue
		}
		e.Warn &^= op.WarnBadID // Finish sets ids
		if !e.Step.Known {
			e.Step = op.Known(int64(i))
		}
		current = append(current, *e.Clone())
	}
	return current
}

// ended yields the operations below parent. All share one Data.
func (r *Recorder) ended(parent trace.SpanContext, above span.Root, res *resource.Resource) iter.Seq[span.Ended] {
	return func(yield func(span.Ended) bool) {
		d := &span.Data{Parent: parent, Kind: trace.SpanKindInternal, Resource: res, Scope: scope}
		context := parent.WithRemote(false).WithTraceFlags(parent.TraceFlags() | trace.FlagsSampled)
		if !parent.IsValid() {
			context = context.WithTraceID(newTraceID())
		}
		e := span.Ended{Data: d, Parent: parent, Root: above}
		for i := range r.ops {
			d.Context = context.WithSpanID(newSpanID())
			r.read(d, i)
			e.Context = d.Context
			if !yield(e) {
				return
			}
		}
	}
}

// read sets the fields of d that differ between operations.
func (r *Recorder) read(d *span.Data, i int) {
	o := &r.ops[i]
	d.Name = o.name
	d.Start = o.time(r, o.start)
	d.End = o.time(r, o.end)
	d.Attrs = r.attributes(i)
	d.Status = sdktrace.Status{}
	if o.failed {
		d.Status = sdktrace.Status{Code: codes.Error, Description: o.failure}
	}
}

// time converts a start or end of r's operation o. The zero Time is unknown.
func (o *recordedOp) time(r *Recorder, ns int64) time.Time {
	switch {
	case !o.unix:
	case ns > 0:
		return time.Unix(0, ns)
	default:
		return time.Time{}
	}
	return r.base.Add(time.Duration(ns))
}

// attributes returns the attributes of operation i, one for each key. They are valid until the next call.
func (r *Recorder) attributes(i int) []attribute.KeyValue {
	o := &r.ops[i]
	inputs := r.inputs[o.inAt:]
	output := r.outputs[o.outAt:]
	further := r.attrs[o.attrsAt:]
	if i+1 < len(r.ops) {
		next := &r.ops[i+1]
		inputs = r.inputs[o.inAt:next.inAt]
		output = r.outputs[o.outAt:next.outAt]
		further = r.attrs[o.attrsAt:next.attrsAt]
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
	if o.launch != 0 {
		attrs = append(attrs, tensorconv.LaunchTime(o.launch))
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
