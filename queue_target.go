package optrace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/op"
)

// Recording is what a [Queue] records with: a *[Tracer] or a *[Processor].
type Recording interface{ queueTarget() queueTarget }

// queueTarget takes the operations of a queue. All but begin and lose are called by who
// polls.
type queueTarget interface {
	// begin returns the local root above ctx if it is known, and whether operations
	// below ctx are taken.
	begin(ctx context.Context) (root span.Root, taken bool)
	record(l *Launch, t Times, attrs []attribute.KeyValue)
	flush()
	// lose counts operations that are lost.
	lose(reason string, n uint64)
}

func (t *Tracer) queueTarget() queueTarget { return tracerTarget{t.orOff()} }

type tracerTarget struct{ *Tracer }

func (t tracerTarget) begin(ctx context.Context) (root span.Root, taken bool) {
	s := trace.SpanFromContext(ctx)
	sc := s.SpanContext()
	return span.Root{}, t.Tracer != off && (!sc.IsValid() || sc.IsSampled() || s.IsRecording())
}

func (t tracerTarget) record(l *Launch, times Times, attrs []attribute.KeyValue) {
	defer t.recover()
	t.Tracer.record(l.ctx, l.prepared, &times, attrs)
}

func (tracerTarget) flush()              {}
func (tracerTarget) lose(string, uint64) {}

func (f *FlightRecorder) queueTarget() queueTarget { return f.processor().queueTarget() }

func (p *Processor) queueTarget() queueTarget {
	return &processorTarget{Processor: p, rec: p.Recorder(context.Background())}
}

// processorTarget collects the operations of one context after the other.
type processorTarget struct {
	*Processor
	rec    *Recorder
	parent trace.SpanContext
}

func (t *processorTarget) begin(ctx context.Context) (root span.Root, taken bool) {
	if t.isOff() {
		return span.Root{}, false
	}
	return t.expect(ctx)
}

func (t *processorTarget) record(l *Launch, times Times, attrs []attribute.KeyValue) {
	left := uint64(1)
	defer t.recover("recording", &left)
	parent := trace.SpanContextFromContext(l.ctx)
	left = 0
	if !parent.Equal(t.parent) || l.root != t.rec.root {
		t.flush()
	}
	t.parent = parent
	t.rec.ctx, t.rec.root, t.rec.step = l.ctx, l.root, op.Int{}
	if step, ok := stepFromContext(l.ctx); ok {
		t.rec.step = op.Known(step)
	}
	t.rec.RecordPrepared(l.prepared, times).Attrs(attrs...)
}

func (t *processorTarget) flush() {
	if t.isOff() {
		return
	}
	t.rec.Finish()
	t.rec.ctx = context.Background() // the application's may be large
}

func (t *processorTarget) lose(reason string, n uint64) {
	if t.isOff() {
		return
	}
	t.lost.Add(n)
	if t.exp != nil {
		t.exp.sink.Drop(reason, n)
	}
}
