package optrace

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/optrace/optrace/internal/shapes"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Tracer starts operations: spans with the attributes of the tensor
// conventions. It is safe for concurrent use.
type Tracer struct {
	tracer trace.Tracer
	cfg    tracerConfig
	shapes shapes.Cache
	pool   sync.Pool // of *opState
}

// NewTracer returns a Tracer that makes spans with tp, under the
// instrumentation scope [ScopeName]. A nil tp records nothing.
func NewTracer(tp trace.TracerProvider, opts ...TracerOption) *Tracer {
	if tp == nil {
		tp = noop.NewTracerProvider()
	}
	return &Tracer{
		tracer: tp.Tracer(ScopeName, trace.WithInstrumentationVersion(Version)),
		cfg:    newTracerConfig(opts),
		pool:   sync.Pool{New: func() any { return new(opState) }},
	}
}

// Start starts the operation name on device, which may be "" where it is not
// known. The returned context holds the operation's span, so that operations
// and spans started with it become its children.
//
// name is the span's name too and should have few distinct values: "matmul",
// not "matmul_64x784".
func (t *Tracer) Start(ctx context.Context, name, device string) (context.Context, Op) {
	if ctx == nil {
		ctx = context.Background()
	}
	step, hasStep := stepFromContext(ctx)
	var span trace.Span
	if t.cfg.startAttributes {
		attrs := []attribute.KeyValue{tensorconv.OpName(name)}
		if device != "" {
			attrs = append(attrs, tensorconv.DeviceID(device))
		}
		ctx, span = t.tracer.Start(ctx, name, trace.WithAttributes(attrs...))
	} else {
		ctx, span = t.tracer.Start(ctx, name)
	}
	o := Op{span: span}
	if !span.IsRecording() {
		return ctx, o
	}
	o.begin(t)
	o.state.attrs = append(o.state.attrs, tensorconv.OpName(name))
	if device != "" {
		o.state.attrs = append(o.state.attrs, tensorconv.DeviceID(device))
	}
	if hasStep {
		o.state.attrs = append(o.state.attrs, tensorconv.Step(step))
	}
	return ctx, o
}

// begin gives o an empty state.
func (o *Op) begin(t *Tracer) {
	s := t.pool.Get().(*opState)
	s.tracer = t
	o.state, o.use = s, s.use.Load()
}

// Op is an operation under way. Its methods add what is known of it and return
// it for chaining; End ends it. The zero Op does nothing.
//
//	ctx, mm := tr.Start(ctx, "matmul", "cuda:0")
//	defer mm.In(64, 784).In(784, 256).Out(64, 256).End()
//
// An Op is used by one goroutine at a time. Copies stand for the same operation.
type Op struct {
	span  trace.Span
	state *opState
	use   uint64 // of state: an Op whose state went to another operation is over
	// prepared tells that the span has its attributes already; there is no state.
	prepared bool
}

// opState collects the attributes of an operation until it ends. States are
// pooled: nothing is allocated per operation.
type opState struct {
	tracer *Tracer
	use    atomic.Uint64 // how many operations have ended with this state
	attrs  []attribute.KeyValue
	// extra are the caller's own: they come last, so that under the SDK's limit
	// of attributes they are the ones to go.
	extra  []attribute.KeyValue
	in     shapes.Key // of all inputs
	out    shapes.Key
	inputs int
	hasOut bool
}

// live returns the state while the operation has not ended.
func (o Op) live() *opState {
	if o.state == nil || o.state.use.Load() != o.use {
		return nil
	}
	return o.state
}

// In adds the shape of an input, in order; no dimensions are a scalar. dims
// is copied.
func (o Op) In(dims ...int64) Op {
	// One more than readers take, so that they see that there were more.
	if s := o.live(); s != nil && s.inputs <= op.MaxInputs {
		s.in = s.in.Append(dims)
		s.inputs++
	}
	return o
}

// Out sets the shape of the output; no dimensions are a scalar, and not calling
// Out leaves the output unknown. dims is copied.
func (o Op) Out(dims ...int64) Op {
	if s := o.live(); s != nil {
		s.out = s.out[:0].Append(dims)
		s.hasOut = true
	}
	return o
}

// DType sets the element type of the output.
func (o Op) DType(t op.DType) Op {
	if s := o.live(); s != nil {
		s.attrs = append(s.attrs, tensorconv.DType(t))
	}
	return o
}

// Err marks the operation as failed. A nil err does nothing, so that
// o.Err(err).End() serves both outcomes.
func (o Op) Err(err error) Op {
	if o.span != nil && err != nil {
		o.span.SetStatus(codes.Error, err.Error())
	}
	return o
}

// Attrs adds further attributes, such as [tensorconv.OpKind], [tensorconv.OpFLOPCount] or one of the
// caller's own.
func (o Op) Attrs(attrs ...attribute.KeyValue) Op {
	if s := o.live(); s != nil {
		s.extra = append(s.extra, attrs...)
	} else if o.prepared {
		o.span.SetAttributes(attrs...)
	}
	return o
}

// Span returns the operation's span, to add events or links to it.
func (o Op) Span() trace.Span {
	if o.span == nil {
		return trace.SpanFromContext(context.Background())
	}
	return o.span
}

// End ends the operation now. A second End does nothing.
func (o Op) End() {
	if o.finish() {
		o.span.End()
	}
}

// EndAt ends the operation at t, for engines that learn of the end later, such
// as from a device's events. A second end does nothing.
func (o Op) EndAt(t time.Time) {
	if o.finish() {
		o.span.End(trace.WithTimestamp(t))
	}
}

// finish sets the attributes, in one call, and reports whether the operation
// was still under way.
func (o Op) finish() bool {
	if o.span == nil {
		return false
	}
	if o.state == nil {
		return true // the span itself knows whether it has ended
	}
	s := o.live()
	// Whoever moves the counter on owns the end.
	if s == nil || !s.use.CompareAndSwap(o.use, o.use+1) {
		return false
	}
	if s.inputs > 0 {
		s.attrs = append(s.attrs, s.tracer.shapes.Inputs(s.in))
	}
	if s.hasOut {
		s.attrs = append(s.attrs, s.tracer.shapes.Output(s.out))
	}
	s.attrs = append(s.attrs, s.extra...)
	o.span.SetAttributes(s.attrs...)
	s.tracer.recycle(s)
	return true
}

// recycle empties s for another operation. The pool must not keep the
// application's own values alive. Names and shapes it may: clearing them costs
// as much as looking up a shape.
func (t *Tracer) recycle(s *opState) {
	if len(s.extra) > 0 {
		clear(s.attrs)
		clear(s.extra)
	}
	s.attrs, s.extra = s.attrs[:0], s.extra[:0]
	s.in, s.out = s.in[:0], s.out[:0]
	s.inputs, s.hasOut = 0, false
	t.pool.Put(s)
}
