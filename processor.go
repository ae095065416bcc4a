package optrace

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/shapes"
	"github.com/optrace/optrace/op"
)

// Processor is a span processor made for the rate at which tensor operations
// end, 10^5 to 10^6 a second.
//
// With an [Exporter] behind it a span is converted and encoded while it ends,
// into one of several buffers that a goroutine writes out: no span is kept,
// and nothing is lost while the writer keeps up. Any other exporter gets a
// bounded queue and batches, non-operations included; attributes with numbers
// that are not finite and links of a span to itself or its parent, which
// tracing backends choke on, are taken out and count as dropped. What cannot be
// taken is handled as the [Policy] says, and counted.
//
// All methods are safe for concurrent use. OnStart and OnEnd do not block,
// except under [Block].
type Processor struct {
	cfg      processorConfig
	next     sdktrace.SpanExporter
	pipeline pipeline
	mapping  *op.Mapping // of the exporter, where it has one
	roots    openRoots
	pruner   *pruner // nil where everything is forwarded
	stopped  atomic.Bool
	skipped  atomic.Uint64
	errs     errorReporter
	metrics  *processorMetrics

	// What the operations of a Recorder need that spans bring along.
	resource atomic.Pointer[resource.Resource]
	shapes   shapes.Cache
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// pipeline carries spans to an exporter.
type pipeline interface {
	// onEnd takes what has finished.
	onEnd(f finished)
	// takingViews returns the pipeline if it takes views, or nil.
	takingViews() viewPipeline
	// flush returns when all that onEnd took before is with the exporter.
	flush(ctx context.Context) error
	// stop flushes and ends the pipeline, at the latest when ctx is done; what
	// is left then counts as dropped.
	stop(ctx context.Context) error
	stats() Stats
}

// viewPipeline is a pipeline that needs no spans.
type viewPipeline interface {
	// onViews takes operations of a Recorder, of each of which it is done with the
	// view before it asks for the next. It may hold a lock meanwhile.
	onViews(all iter.Seq[finished])
}

// NewProcessor returns a Processor in front of next, which it shuts down when
// it is shut down itself. With a nil next it does nothing. Options that make no
// sense are an error.
func NewProcessor(next sdktrace.SpanExporter, opts ...ProcessorOption) (*Processor, error) {
	cfg, err := newProcessorConfig(opts)
	if err != nil {
		return nil, err
	}
	p := &Processor{cfg: cfg}
	if e, ok := next.(*Exporter); ok && e == nil {
		next = nil // what NewExporter returns with an error
	}
	p.next = next
	switch e := next.(type) {
	case nil:
	case *Exporter:
		p.mapping = e.cfg.mapping
		if cfg.flightEntries > 0 {
			if _, ok := e.sink.format.(entriesFormat); !ok {
				return nil, errors.New("optrace: new processor: a flight recorder writes the entries format only")
			}
			p.pipeline = newFlightPipeline(e, cfg, &p.errs)
		} else {
			p.pipeline = newEncodingPipeline(e, cfg, &p.errs)
		}
	default:
		if cfg.flightEntries > 0 {
			return nil, errors.New("optrace: new processor: a flight recorder needs an *optrace.Exporter")
		}
		if cfg.forwardThreshold > 0 {
			p.pruner = newPruner(cfg.forwardThreshold, cfg.forwardRatio)
		}
		p.pipeline = newQueuePipeline(e, cfg, &p.errs)
	}
	p.metrics, err = newProcessorMetrics(p.Stats)
	return p, err
}

// OnStart notes local roots.
func (p *Processor) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if p.pipeline == nil || p.stopped.Load() {
		return
	}
	defer p.recover("starting a span")
	p.roots.started(s)
	if p.pruner != nil && p.takes(s.SpanContext()) {
		p.pruner.started(s)
	}
	if p.resource.Load() == nil {
		p.resource.Store(s.Resource())
	}
}

// OnEnd takes a finished span.
func (p *Processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.pipeline == nil {
		return
	}
	defer p.recover("ending a span")
	f := finished{span: s, context: s.SpanContext(), parent: s.Parent()}
	f.root = p.roots.ended(f.context, f.parent)
	f.alone = !f.parent.IsValid() && s.ChildSpanCount() == 0
	if p.stopped.Load() {
		return
	}
	if !p.takes(f.context) {
		p.skipped.Add(1)
		return
	}
	if p.cfg.filter != nil && !p.cfg.filter(s) {
		p.skipped.Add(1)
		if p.pruner != nil {
			p.pruner.forget(s)
		}
		return
	}
	if p.pruner != nil {
		if s = p.pruner.ended(s, f.root); s == nil {
			p.skipped.Add(1)
			return
		}
		f.span = s
	}
	p.pipeline.onEnd(f)
}

// takes reports whether spans of s's sampling decision are taken.
func (p *Processor) takes(s trace.SpanContext) bool { return s.IsSampled() || p.cfg.recordOnly }

// ForceFlush returns when every operation that ended before the call is with
// the exporter's writer, or with ctx's error when ctx is done before. After
// Shutdown it does nothing.
func (p *Processor) ForceFlush(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if p.pipeline == nil || p.stopped.Load() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.pipeline.flush(ctx)
}

// Dump writes what a flight recorder holds; see [WithFlightRecorder]. It
// returns when that is with the writer or ctx is done. On a Processor without
// a flight recorder it is ForceFlush.
func (p *Processor) Dump(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	f, ok := p.pipeline.(*flightPipeline)
	if !ok || p.stopped.Load() {
		return p.ForceFlush(ctx)
	}
	return requestFlush(ctx, f.flushes, f.done)
}

// lastFlush is how long a Shutdown whose context is already done may take to
// write what is in the buffers: to a local file this takes milliseconds.
const lastFlush = 100 * time.Millisecond

// Shutdown flushes, ends the Processor and shuts the exporter down. When ctx is
// done before the flush, what is left counts as dropped. The second and later
// calls do nothing.
func (p *Processor) Shutdown(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if p.stopped.Swap(true) || p.pipeline == nil {
		return nil
	}
	flushCtx := ctx
	if ctx.Err() != nil {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
		defer cancel()
		flushCtx = short
	}
	err := errors.Join(p.pipeline.stop(flushCtx), p.metrics.shutdown(), p.shutdownNext(ctx))
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// shutdownNext shuts the exporter down, which may be anyone's: it may panic,
// and it may not listen to ctx.
func (p *Processor) shutdownNext(ctx context.Context) error {
	return await(ctx, stopGrace, func() (err error) {
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
	if p.pipeline == nil {
		return Stats{}
	}
	st := p.pipeline.stats()
	st.Skipped += p.skipped.Load()
	return st
}

// MarshalLog describes the processor in the SDK's log, without paths.
func (p *Processor) MarshalLog() any {
	return struct {
		Type          string
		Policy        string
		MaxBytes      int64
		FlushInterval time.Duration
		Exporter      sdktrace.SpanExporter
	}{"optrace", p.cfg.policy.String(), p.cfg.maxBytes, p.cfg.flushInterval, p.next}
}

// recover keeps a panic from reaching the application's End.
func (p *Processor) recover(what string) {
	if r := recover(); r != nil {
		p.errs.report(fmt.Errorf("optrace: %s panicked: %v", what, r))
	}
}
