package optrace

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/shapes"
	"github.com/optrace/optrace/tensorconv"
)

// Version is the version of this module, and of the instrumentation scope of a [Tracer].
const Version = "0.3.0"

// ScopeName is the instrumentation scope of a [Tracer].
const ScopeName = "github.com/optrace/optrace"

// Tracer starts operations: spans with the attributes of package tensorconv. It
// is safe for concurrent use.
//
// A Tracer is made once, for a package or an engine, and needs no shutdown. It keeps the attributes
// of the shapes that it has seen, in 20 MiB at most, 3 MiB for operations on matrices. A nil or zero
// Tracer records nothing.
type Tracer struct {
	tracer trace.Tracer
	cfg    tracerConfig
	shapes shapes.Cache
	pool   sync.Pool // of *opState
	errs   observ.Errors
}

// NewTracer returns a Tracer that makes spans with tp, under the instrumentation scope [ScopeName]. A
// nil tp records nothing.
func NewTracer(tp trace.TracerProvider, opts ...TracerOption) *Tracer {
	if tp == nil {
		tp = noop.NewTracerProvider()
	}
	t := &Tracer{
		tracer: tp.Tracer(ScopeName, trace.WithInstrumentationVersion(Version)),
		pool:   sync.Pool{New: func() any { return new(opState) }},
	}
	apply(&t.cfg, opts, TracerOption.apply)
	return t
}

// off stands for a nil or zero Tracer.
var off = NewTracer(nil)

func (t *Tracer) orOff() *Tracer {
	if t == nil || t.tracer == nil {
		return off
	}
	return t
}

// Start starts the operation name on device, which may be "". The returned context holds the
// operation's span, so that operations and spans started with it become its children. The operation
// must be ended with End or EndAt.
//
// name is also the name of the span and should have few distinct values: "matmul", not
// "matmul_64x784". Where the span is not recorded the operation costs what the span costs. A nil ctx
// is context.Background().
func (t *Tracer) Start(ctx context.Context, name, device string) (context.Context, Op) {
	return t.orOff().start(ctx, name, device)
}

func (t *Tracer) start(ctx context.Context, name, device string, opts ...trace.SpanStartOption) (context.Context, Op) {
	ctx = orBackground(ctx)
	step, hasStep := stepFromContext(ctx)
	var span trace.Span
	if t.cfg.startAttributes {
		attrs := []attribute.KeyValue{tensorconv.OpName(name)}
		if device != "" {
			attrs = append(attrs, tensorconv.DeviceID(device))
		}
		opts = append(opts, trace.WithAttributes(attrs...))
	}
	ctx, span = t.tracer.Start(ctx, name, opts...)
	if !span.IsRecording() {
		return ctx, Op{span: span}
	}
	s := t.pool.Get().(*opState)
	s.tracer = t
	s.attrs = append(s.attrs, tensorconv.OpName(name))
	if device != "" {
		s.attrs = append(s.attrs, tensorconv.DeviceID(device))
	}
	if hasStep {
		s.attrs = append(s.attrs, tensorconv.Step(step))
	}
	return ctx, Op{span: span, state: s, use: s.use.Load()}
}

type stepKey struct{}

// ContextWithStep returns a context in which operations belong to the given iteration of a training
// or generation loop.
func ContextWithStep(ctx context.Context, step int64) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// stepFromContext returns the iteration that ctx carries.
func stepFromContext(ctx context.Context) (step int64, ok bool) {
	step, ok = ctx.Value(stepKey{}).(int64)
	return step, ok
}

// TracerOption configures a [Tracer].
type TracerOption interface{ apply(*tracerConfig) }

type tracerConfig struct {
	startAttributes bool
}

// WithStartAttributes passes the operation's name and device to the SDK when a span starts, so that
// samplers see more than the span's name. Each operation then makes four more allocations. Prepared
// operations and those of a [Recorder] are not affected. Default: off.
func WithStartAttributes() TracerOption {
	return option[tracerConfig](func(cfg *tracerConfig) { cfg.startAttributes = true })
}

// option is an option of what has the configuration C.
type option[C any] func(*C)

func (o option[C]) apply(cfg *C) { o(cfg) }

// apply applies options, of which nil ones are ignored.
func apply[O, C any](cfg *C, opts []O, apply func(O, *C)) {
	for _, o := range opts {
		if any(o) != nil {
			apply(o, cfg)
		}
	}
}

// orBackground returns ctx, or the background for nil.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
