package optrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/pipeline"
	"github.com/optrace/optrace/internal/record/prune"
	"github.com/optrace/optrace/internal/record/shapes"
	"github.com/optrace/optrace/internal/record/sink"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op/attr"
)

// Processor is a span processor for 10^5 to 10^6 operations per second.
//
// In front of an [Exporter], see [NewProcessor], it encodes each span as it ends, into buffers written by one
// goroutine. In front of any other exporter, see [NewForwarder], it queues spans in bounded memory, and removes values
// invalid for tracing backends from operations: numbers that are not finite, links to the span itself or its parent.
// They count as dropped. [NewFlightRecorder] keeps the last operations until a dump.
//
// If a buffer is full, the [Policy] decides. Every loss is counted; see [Stats].
//
// A Processor recognizes repeated strings by their memory. Clone a string over memory that changes later (package
// unsafe, memory of C): otherwise an old text may be recorded.
//
// All methods are safe for concurrent use. OnStart and OnEnd do not block, except under [PolicyBlock]. A nil or zero
// Processor is a no-op.
type Processor struct {
	cfg       processorConfig
	next      sdktrace.SpanExporter
	exp       *Exporter         // next, if it is an Exporter
	isFirst   bool              // among the Processors in front of exp
	pipeline  pipeline.Pipeline // nil if the Processor is off
	roots     traces.Roots
	pruner    *prune.Pruner // nil without a forwarding threshold
	stopped   atomic.Bool
	skipped   atomic.Uint64
	lost      atomic.Uint64 // operations lost before the pipeline
	reported  atomic.Uint64 // dropped operations reported by ForceFlush
	errs      observ.Errors
	unobserve func() error

	// For the operations of Recorders.
	mapping  *attr.Mapping
	resource atomic.Pointer[resource.Resource] // of the first span
	expected *resource.Resource                // before the first span; may be nil
	sampled  atomic.Pointer[sampledResource]   // nil unless a sampler drops operations
	shapes   *shapes.Cache
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// NewProcessor returns a Processor in front of exp. The last Processor in front of exp shuts it down. NewProcessor
// returns an error if exp is nil or an option is invalid.
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

// NewForwarder returns a Processor that forwards all spans, operations and others, to next, such as an exporter of
// OTLP. Its Shutdown shuts next down. NewForwarder returns an error if next is nil or an [Exporter], or an option is
// invalid.
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

// NewFlightRecorder returns a Processor that keeps the last n operations in memory, with up to a quarter as many spans
// above them, and writes them to exp at a dump. [Processor.Dump], [Processor.WriteTo] and the events of the WithDump
// options request one. A dump writes all kept operations and removes them. Operations displaced by later ones, or left
// at Shutdown, count as dropped. ForceFlush is a no-op.
//
// It keeps fewer than n operations if they need more memory than [WithMaxBytes] allows. During a dump, later operations
// may take as much memory again. The last Processor in front of exp shuts it down. NewFlightRecorder returns an error
// if exp is nil or has a format other than [FormatEntries], n is not positive, or an option is invalid.
func NewFlightRecorder(exp *Exporter, n int, opts ...ProcessorOption) (*Processor, error) {
	if exp.isOff() {
		return nil, errors.New("optrace: new flight recorder: the exporter is nil")
	}
	format, ok := exp.format.(encoding.Joiner)
	if !ok {
		return nil, fmt.Errorf("optrace: new flight recorder: the format is %v, not %v", exp.cfg.format, FormatEntries)
	}
	cfg, err := newProcessorConfig(flightRecorders, opts)
	if n <= 0 {
		err = errors.Join(fmt.Errorf("optrace: new flight recorder: size %d is not positive", n), err)
	}
	if err != nil {
		return nil, err
	}
	p := newProcessor(cfg, exp)
	history := cfg.pipeline()
	history.Entries = n
	p.start(pipeline.NewFlight(p.toExporter(exp), format, history, &p.errs))
	return p, nil
}

// flight returns the pipeline of a running flight recorder. It returns nil for a Processor that is off or shut down.
func (p *Processor) flight() (*pipeline.Flight, error) {
	if p.isOff() || p.stopped.Load() {
		return nil, nil
	}
	f, ok := p.pipeline.(*pipeline.Flight)
	if !ok {
		return nil, errors.New("optrace: dump: the processor is not a flight recorder")
	}
	return f, nil
}

// Dump writes the kept operations of a flight recorder to its exporter. It waits for the write until ctx is done. After
// Shutdown it is a no-op. It returns an error if p is not from [NewFlightRecorder].
func (p *Processor) Dump(ctx context.Context) error {
	f, err := p.flight()
	if f == nil {
		return err
	}
	return f.Dump(orBackground(ctx))
}

// WriteTo writes the kept operations of a flight recorder to w, such as an HTTP response, as a file of entries. It
// returns the number of bytes written; operations that w did not take count as dropped. After Shutdown it is a no-op.
// It returns an error if p is not from [NewFlightRecorder].
func (p *Processor) WriteTo(w io.Writer) (n int64, err error) {
	f, err := p.flight()
	if f == nil {
		return 0, err
	}
	return f.WriteTo(w)
}

// newProcessor returns a Processor without a pipeline.
func newProcessor(cfg processorConfig, next sdktrace.SpanExporter) *Processor {
	return &Processor{cfg: cfg, next: next, shapes: shapes.New(cfg.shapeBytes())}
}

// toExporter sets p's exporter and returns it as an output for pipelines.
func (p *Processor) toExporter(exp *Exporter) pipeline.Output {
	p.exp = exp
	p.mapping = exp.cfg.mapping
	p.isFirst = exp.users.Add(1) == 1
	return pipeline.Output{Sink: exp.sink, Traces: &exp.traces, Format: exp.format, Mapping: p.mapping}
}

// start sets p's pipeline.
func (p *Processor) start(next pipeline.Pipeline) {
	p.pipeline = next
	p.unobserve = observ.ObserveProcessor(scope, func() observ.Counts {
		st := p.Stats()
		lost := p.lost.Load()
		n := p.pipeline.Stats()
		counts := observ.Counts{
			Recorded: n.Recorded + lost, Exported: n.Exported, Lost: n.Lost + lost,
			Forgotten: st.EvictedSpans, Unsummed: st.Unsummarized,
		}
		if p.isFirst { // Processors in front of one Exporter share the count
			counts.LostParents = st.LostParents
		}
		return counts
	})
}

// isOff reports whether p is nil or zero.
func (p *Processor) isOff() bool { return p == nil || p.pipeline == nil }

// OnStart notes local roots.
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
	left = 0 // from here on the pipeline counts it
	if admitted {
		e.Differs = e.Resource != nil || e.Context.TraceState().Len() != states
		p.pipeline.OnEnd(e)
	}
}

// admit reports whether e goes to the pipeline, and counts it if not. It may replace e's span by a span with a summary.
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

// recorded returns the context c as an Exporter records it: without a probability of sampling if p records all spans.
func (p *Processor) recorded(c trace.SpanContext) trace.SpanContext {
	if state := c.TraceState(); p.cfg.recordOnly && p.exp != nil && state.Len() > 0 && p.sampled.Load() == nil {
		return c.WithTraceState(state.Delete("ot"))
	}
	return c
}

// keeps calls the filter. A panic keeps the span.
func (p *Processor) keeps(s sdktrace.ReadOnlySpan) (keep bool) {
	defer func() {
		if r := recover(); r != nil {
			keep = true
			p.errs.Report(fmt.Errorf("optrace: the filter panicked: %v", r))
		}
	}()
	return p.cfg.filter(s)
}

// takes reports whether p takes spans with the sampling decision of s.
func (p *Processor) takes(s trace.SpanContext) bool { return s.IsSampled() || p.cfg.recordOnly }

// ForceFlush waits until every operation that ended before the call is with the exporter's writer, or ctx is done. It
// returns an error for operations dropped since the last flush. Overlapping calls may report the same operations.
func (p *Processor) ForceFlush(ctx context.Context) error {
	ctx = orBackground(ctx)
	if p.isOff() || p.stopped.Load() || p.cfg.role == flightRecorders {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	before := p.reported.Load()
	err := p.pipeline.Flush(ctx)
	lost := p.pipeline.Stats().Dropped + p.lost.Load()
	for now := p.reported.Load(); now < lost && !p.reported.CompareAndSwap(now, lost); now = p.reported.Load() {
	}
	if lost > before {
		err = errors.Join(fmt.Errorf("optrace: %s %s dropped since the last flush",
			units.Plural(int64(lost-before), "operation"), units.Verb(int64(lost-before), "was", "were")), err)
	}
	return err
}

const lastFlush = 100 * time.Millisecond // for a Shutdown with a context that is done

// Shutdown flushes, ends the Processor and shuts its exporter down. If ctx is done first, the remaining and later
// operations count as dropped. If ctx has no deadline, Shutdown gives up after the time of [WithExportTimeout] without
// progress. Further calls are no-ops.
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
	if err != nil && errors.Is(nextErr, context.Cause(ctx)) { // in err already
		nextErr = nil
	}
	observ.Await(ctx)
	err = errors.Join(err, nextErr)
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// shutdownNext shuts the exporter down within wait if ctx has no deadline. The exporter may panic or ignore ctx.
func (p *Processor) shutdownNext(ctx context.Context, wait time.Duration) error {
	if p.exp != nil && p.exp.users.Add(-1) > 0 {
		return nil // the last Processor shuts it down
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

// Stats returns the counts so far. A forwarder counts all spans as operations.
func (p *Processor) Stats() Stats {
	if p.isOff() {
		return Stats{}
	}
	n := p.pipeline.Stats()
	lost := p.lost.Load()
	st := Stats{
		Recorded: n.Recorded + lost, Written: n.Written, Dropped: n.Dropped + lost,
		Skipped: n.Skipped + p.skipped.Load(), EvictedSpans: p.roots.Forgotten(),
	}
	if p.pruner != nil {
		st.Unsummarized = p.pruner.Forgotten()
	}
	if p.exp != nil {
		st.DeletedFiles = p.exp.deleted()
		st.Shortened = p.exp.sink.Stats().Shortened
		st.LostParents = p.exp.traces.LostParents()
	}
	return st
}

// MarshalLog describes the Processor for the SDK's log, without paths.
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
	}{"optrace", p.cfg.policy.String(), p.cfg.maxBytes, p.cfg.flushInterval, p.next}
}

// recover reports a panic. It counts *lost operations as dropped.
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

// samplerOf returns the sampler of a TracerProvider of the SDK, or nil if it is unknown.
func samplerOf(tp trace.TracerProvider) sdktrace.Sampler {
	p, ok := tp.(*sdktrace.TracerProvider)
	if !ok {
		return nil
	}
	return samplerIn(reflect.ValueOf(p).Elem())
}

// samplerIn reads the unexported field sampler of an addressable TracerProvider: the SDK has no accessor. It returns
// nil if the field has another name or type.
func samplerIn(provider reflect.Value) sdktrace.Sampler {
	f := provider.FieldByName("sampler")
	if !f.IsValid() || f.Type() != reflect.TypeFor[sdktrace.Sampler]() {
		return nil
	}
	return *(*sdktrace.Sampler)(f.Addr().UnsafePointer())
}

// sampledResource maps the resource of spans to the one in the file, with the attribute optrace.sampler.
type sampledResource struct{ given, stated *resource.Resource }

// learn notes the resource of the first span, and its provider's sampler if it drops operations.
func (p *Processor) learn(s sdktrace.ReadWriteSpan) {
	given := s.Resource()
	if !p.resource.CompareAndSwap(nil, given) || p.exp == nil {
		return
	}
	sampler := samplerOf(s.TracerProvider())
	if sampler == nil || !dropsOperations(sampler.Description(), p.cfg.recordOnly) {
		return
	}
	name := attribute.String(attrkey.Sampler, sampler.Description())
	stated, _ := resource.Merge(given, resource.NewSchemaless(name)) // without a schema there is no conflict
	p.sampled.Store(&sampledResource{given, stated})
	if p.cfg.recordOnly {
		p.errs.Report(fmt.Errorf("optrace: the sampler %s may leave operations out of the recording: give it to "+
			"WithSampler of Setup or ProviderOptions, or put sdktrace.AlwaysRecord around it", name.Value.AsString()))
	}
}

// stated returns the resource to write in place of r.
func (p *Processor) stated(r *resource.Resource) *resource.Resource {
	if s := p.sampled.Load(); s != nil && s.given == r {
		return s.stated
	}
	return r
}

// dropsOperations reports whether a sampler with this description drops spans of traces started in this process. With
// recordOnly, record-only spans are not dropped.
func dropsOperations(description string, recordOnly bool) bool {
	root, records := strings.CutPrefix(description, "AlwaysRecord{root:")
	root = strings.TrimPrefix(root, "ParentBased{root:")
	return !(records && recordOnly) && !slices.ContainsFunc([]string{"AlwaysOnSampler", "TraceIDRatioBased{1}"},
		func(all string) bool { return strings.HasPrefix(root, all) })
}
