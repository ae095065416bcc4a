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

// Version is the version of this module and of the instrumentation scope of a [Tracer].
const Version = "0.3.0"

// ScopeName is the instrumentation scope of a [Tracer].
const ScopeName = "github.com/optrace/optrace"

// Tracer starts operations: spans with the attributes of package tensorconv. It is safe for concurrent use.
//
// Make one Tracer for a package or an engine. It needs no shutdown. It caches the attributes of the shapes it has seen,
// in at most 20 MiB, or 3 MiB if the operations have matrices only. A nil or zero Tracer is a no-op.
type Tracer struct {
	tracer          trace.Tracer
	startAttributes bool
	shapes          shapes.Cache
	pool            sync.Pool // of *opState
	errs            observ.Errors
}

// NewTracer returns a Tracer that makes spans with tp, in the instrumentation scope [ScopeName]. A nil tp makes a
// no-op. [WithStartAttributes] is the only option with an effect.
func NewTracer(tp trace.TracerProvider, opts ...SetupOption) *Tracer {
	if tp == nil {
		tp = noop.NewTracerProvider()
	}
	var cfg setupConfig
	apply(&cfg, opts, SetupOption.apply)
	return &Tracer{
		tracer:          tp.Tracer(ScopeName, trace.WithInstrumentationVersion(Version)),
		startAttributes: cfg.startAttributes,
		pool:            sync.Pool{New: func() any { return new(opState) }},
	}
}

// off stands for a nil or zero Tracer.
var off = NewTracer(nil)

func (t *Tracer) orOff() *Tracer {
	if t == nil || t.tracer == nil {
		return off
	}
	return t
}

// Start starts the operation name on device, which may be "". The returned context holds the operation's span:
// operations and spans started with it are children of the operation. The caller must call End.
//
// name is also the span's name and should have few distinct values: "matmul", not "matmul_64x784". An operation without
// a recorded span costs as much as this span. A nil ctx is context.Background().
func (t *Tracer) Start(ctx context.Context, name, device string) (context.Context, Op) {
	return t.orOff().start(ctx, name, device)
}

func (t *Tracer) start(ctx context.Context, name, device string, opts ...trace.SpanStartOption) (context.Context, Op) {
	ctx = orBackground(ctx)
	step, hasStep := stepFromContext(ctx)
	var span trace.Span
	if t.startAttributes {
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

// ContextWithStep returns a context for operations of one iteration of a training or generation loop.
func ContextWithStep(ctx context.Context, step int64) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

func stepFromContext(ctx context.Context) (step int64, ok bool) {
	step, ok = ctx.Value(stepKey{}).(int64)
	return step, ok
}

// option is an option for the configuration C.
type option[C any] func(*C)

func (o option[C]) apply(cfg *C) { o(cfg) }

// apply applies opts in order. It ignores nil options.
func apply[O, C any](cfg *C, opts []O, apply func(O, *C)) {
	for _, o := range opts {
		if any(o) != nil {
			apply(o, cfg)
		}
	}
}

// orBackground returns ctx, or context.Background() if ctx is nil.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
