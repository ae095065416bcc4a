package optrace

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/pipeline"
	"github.com/optrace/optrace/internal/record/prune"
	"github.com/optrace/optrace/internal/record/shapes"
	"github.com/optrace/optrace/internal/record/sink"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op/attr"
)

// Processor is a span processor made for the rate at which tensor operations end, 10^5 to 10^6 a
// second.
//
// In front of an [Exporter], see [NewProcessor], a span is encoded while it ends, into one of
// several buffers that a goroutine writes. In front of any other exporter, see [NewForwarder],
// spans wait in a bounded queue; of operations, what tracing backends cannot process (numbers that
// are not finite, links to the span itself or its parent) is removed and counts as dropped. If
// there is no room, the [Policy] says what happens; every loss is counted.
//
// Texts that repeat are recognised by their memory. A string over memory that changes later
// (package unsafe, memory of C) may be recorded as it was before: clone it.
//
// All methods are safe for concurrent use. OnStart and OnEnd do not block, except under
// [PolicyBlock]. A nil or zero Processor does nothing.
type Processor struct {
	cfg       processorConfig
	next      sdktrace.SpanExporter
	exp       *Exporter         // next, if it is one
	isFirst   bool              // of the Processors in front of exp
	pipeline  pipeline.Pipeline // nil if nothing is recorded
	roots     traces.Roots
	pruner    *prune.Pruner // nil if everything is forwarded
	stopped   atomic.Bool
	skipped   atomic.Uint64
	lost      atomic.Uint64 // before the pipeline had them
	told      atomic.Uint64 // how many dropped operations a ForceFlush has reported
	errs      observ.Errors
	unobserve func() error

	// For the operations of a Recorder, which are not spans.
	mapping  *attr.Mapping
	resource atomic.Pointer[resource.Resource] // of spans
	expected *resource.Resource                // of spans, as long as there were none; may be nil
	sampled  atomic.Pointer[sampledResource]   // nil unless a sampler leaves operations out
	shapes   *shapes.Cache
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// NewProcessor returns a Processor in front of exp, which the last Processor or FlightRecorder in
// front of it shuts down. A nil exp and options with values that make no sense are errors.
func NewProcessor(exp *Exporter, opts ...ProcessorOption) (*Processor, error) {
	if exp.isOff() {
		return nil, errors.New("optrace: new processor: the exporter is nil")
	}
	cfg, err := newProcessorConfig(processors, opts)
	if err != nil {
		return nil, err
	}
	p := newProcessor(cfg, exp)
	p.start(pipeline.NewBuffered(p.toExporter(exp), cfg.pipeline(), &p.errs))
	return p, nil
}

// NewForwarder returns a Processor in front of an exporter of spans, such as one of OTLP, which it
// shuts down when it is shut down itself. It forwards all spans, non-operations included. A nil
// next, an [Exporter] and options with values that make no sense are errors.
func NewForwarder(next sdktrace.SpanExporter, opts ...ProcessorOption) (*Processor, error) {
	if isNil(next) {
		return nil, errors.New("optrace: new forwarder: the exporter is nil")
	}
	if _, ok := next.(*Exporter); ok {
		return nil, errors.New("optrace: new forwarder: use NewProcessor for an *optrace.Exporter")
	}
	cfg, err := newProcessorConfig(forwarders, opts)
	if err != nil {
		return nil, err
	}
	p := newProcessor(cfg, next)
	if cfg.forwardThreshold > 0 {
		p.pruner = prune.New(cfg.forwardThreshold, cfg.forwardRatio)
	}
	p.start(pipeline.NewQueue(next, cfg.pipeline(), &p.errs))
	return p, nil
}

// newProcessor returns a Processor without a pipeline.
func newProcessor(cfg processorConfig, next sdktrace.SpanExporter) *Processor {
	return &Processor{cfg: cfg, next: next, shapes: shapes.New(cfg.shapeBytes())}
}

// toExporter makes exp the exporter behind p, and returns it as pipelines use it.
func (p *Processor) toExporter(exp *Exporter) pipeline.Output {
	p.exp, p.mapping = exp, exp.cfg.mapping
	p.isFirst = exp.users.Add(1) == 1
	return pipeline.Output{Sink: exp.sink, Traces: &exp.traces, Format: exp.format, Mapping: exp.cfg.mapping}
}

// start makes next the pipeline of p.
func (p *Processor) start(next pipeline.Pipeline) {
	p.pipeline = next
	p.unobserve = observ.ObserveProcessor(scope, func() observ.Counts {
		st, lost := p.Stats(), p.lost.Load()
		n := p.pipeline.Stats()
		counts := observ.Counts{
			Recorded: n.Recorded + lost, Exported: n.Exported, Lost: n.Lost + lost, Forgotten: st.Forgotten, Unsummed: st.Unsummed,
		}
		if p.isFirst { // the count is that of the Exporter
			counts.LostParents = st.LostParents
		}
		return counts
	})
}

// isOff reports whether p records nothing.
func (p *Processor) isOff() bool { return p == nil || p.pipeline == nil }

// OnStart records local roots.
func (p *Processor) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if p.isOff() || p.stopped.Load() {
		return
	}
	defer p.recover("starting a span", nil)
	p.roots.Started(s)
	if p.pruner != nil && p.takes(s.SpanContext()) {
		p.pruner.Started(s)
	}
	if p.resource.Load() == nil {
		p.learn(s)
	}
}

// OnEnd takes a finished span. After Shutdown an operation counts as dropped.
func (p *Processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.isOff() {
		return
	}
	left := uint64(1)
	defer p.recover("ending a span", &left)
	e := span.Ended{Span: s, Context: s.SpanContext(), Parent: s.Parent()}
	e.Root = p.roots.Ended(e.Context, e.Parent)
	if p.sampled.Load() != nil {
		e.Resource = p.stated(s.Resource())
	}
	e.Alone = !e.Parent.IsValid() && s.ChildSpanCount() == 0
	states := e.Context.TraceState().Len()
	admitted := p.admit(&e)
	left = 0 // what the pipeline has, it counts
	if admitted {
		e.Differs = e.Resource != nil || e.Context.TraceState().Len() != states
		p.pipeline.OnEnd(e)
	}
}

// admit reports whether e goes to the pipeline, and counts it otherwise. It may replace e's span
// by one with a summary.
func (p *Processor) admit(e *span.Ended) bool {
	if !p.takes(e.Context) {
		p.skipped.Add(1)
		return false
	}
	if p.cfg.filter != nil && !p.keeps(e.ReadOnly()) {
		p.skipped.Add(1)
		if p.pruner != nil {
			p.pruner.Forget(e.ReadOnly())
		}
		return false
	}
	e.Context = p.recorded(e.Context)
	if p.pruner == nil {
		return true
	}
	if e.Span = p.pruner.Ended(e.ReadOnly(), e.Root); e.Span == nil {
		p.skipped.Add(1)
		return false
	}
	return true
}

// recorded returns the context of a span as an Exporter is to record it.
func (p *Processor) recorded(c trace.SpanContext) trace.SpanContext {
	if state := c.TraceState(); p.cfg.recordOnly && p.exp != nil && state.Len() > 0 && p.sampled.Load() == nil {
		return c.WithTraceState(state.Delete("ot")) // with the probability of sampling
	}
	return c
}

// keeps calls the filter. One that panics keeps the span.
func (p *Processor) keeps(s sdktrace.ReadOnlySpan) (keep bool) {
	defer func() {
		if r := recover(); r != nil {
			keep = true
			p.errs.Report(fmt.Errorf("optrace: the filter panicked: %v", r))
		}
	}()
	return p.cfg.filter(s)
}

// takes reports whether spans of s's sampling decision are taken.
func (p *Processor) takes(s trace.SpanContext) bool { return s.IsSampled() || p.cfg.recordOnly }

// ForceFlush returns when every operation that ended before the call is with the exporter's
// writer, or with ctx's error when ctx is done before. It returns an error for operations that were
// dropped, whatever dropped them. Each loss is reported once, or by several calls that overlap.
func (p *Processor) ForceFlush(ctx context.Context) error {
	ctx = orBackground(ctx)
	if p.isOff() || p.stopped.Load() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	told := p.told.Load()
	err := p.pipeline.Flush(ctx)
	lost := p.dropped()
	for before := p.told.Load(); before < lost && !p.told.CompareAndSwap(before, lost); before = p.told.Load() {
	}
	if lost > told {
		err = errors.Join(fmt.Errorf("optrace: %d operations were dropped since the last flush", lost-told), err)
	}
	return err
}

// dropped returns the number of operations that are lost, before the pipeline or in it.
func (p *Processor) dropped() uint64 { return p.pipeline.Stats().Dropped + p.lost.Load() }

const lastFlush = 100 * time.Millisecond // for the buffers, in a Shutdown whose context is done

// Shutdown flushes, ends the Processor and shuts the exporter down. When ctx is done before, the
// operations that are left count as dropped, and so do those that end later. If ctx has no deadline,
// Shutdown gives up when no operation got through for the time of [WithExportTimeout]. Later calls do
// nothing.
func (p *Processor) Shutdown(ctx context.Context) error {
	ctx = orBackground(ctx)
	if p.isOff() || p.stopped.Swap(true) {
		return nil
	}
	flushCtx := ctx
	if ctx.Err() != nil {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
		defer cancel()
		flushCtx = short
	}
	err := errors.Join(p.pipeline.Stop(flushCtx), p.unobserve())
	wait := p.cfg.exportTimeout
	if errors.Is(err, pipeline.ErrStuck) {
		wait = lastFlush
	}
	nextErr := p.shutdownNext(ctx, wait)
	if err != nil && errors.Is(nextErr, context.Cause(ctx)) { // which the flush has said
		nextErr = nil
	}
	observ.Await(ctx)
	err = errors.Join(err, nextErr)
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// shutdownNext shuts the exporter down, which may panic and may not listen to ctx; that ends after
// wait if it has no deadline.
func (p *Processor) shutdownNext(ctx context.Context, wait time.Duration) error {
	if p.exp != nil && p.exp.users.Add(-1) > 0 {
		return nil // the last one shuts it down
	}
	if _, ok := ctx.Deadline(); !ok {
		short, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		ctx = short
	}
	return sink.Await(ctx, pipeline.StopGrace, func() (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("optrace: exporter panicked in Shutdown: %v", r)
			}
		}()
		return p.next.Shutdown(ctx)
	})
}

// Stats returns what became of the operations so far, and with an exporter
// that is not an [Exporter] of all spans.
func (p *Processor) Stats() Stats {
	if p.isOff() {
		return Stats{}
	}
	n := p.pipeline.Stats()
	lost := p.lost.Load()
	st := Stats{
		Recorded: n.Recorded + lost, Written: n.Written, Dropped: n.Dropped + lost, Skipped: n.Skipped + p.skipped.Load(),
		Forgotten: p.roots.Forgotten(),
	}
	if p.pruner != nil {
		st.Unsummed = p.pruner.Forgotten()
	}
	if p.exp != nil {
		st.DeletedFiles, st.Shortened = p.exp.deleted(), p.exp.sink.Stats().Shortened
		st.LostParents = p.exp.traces.LostParents()
	}
	return st
}

// MarshalLog describes the processor in the SDK's log, without paths.
func (p *Processor) MarshalLog() any {
	if p == nil {
		p = new(Processor)
	}
	return struct {
		Type          string
		Policy        string
		BufferBytes   int64
		FlushInterval time.Duration
		Exporter      sdktrace.SpanExporter
	}{"optrace", p.cfg.policy.String(), p.cfg.bufferBytes, p.cfg.flushInterval, p.next}
}

// recover keeps a panic from reaching the application. lost, if not nil, is what that costs.
func (p *Processor) recover(what string, lost *uint64) {
	r := recover()
	if r == nil {
		return
	}
	p.errs.Report(fmt.Errorf("optrace: %s panicked: %v", what, r))
	if lost != nil && *lost > 0 {
		p.lost.Add(*lost)
		if p.exp != nil {
			p.exp.sink.Drop("conversion_failed", *lost)
		}
	}
}
