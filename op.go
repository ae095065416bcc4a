package optrace

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/shapes"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Op is an operation under way; see [Tracer.Start]. Its methods add what is
// known of the operation and return it for chaining. After End they do nothing.
// The zero Op does nothing.
//
//	ctx, mm := tr.Start(ctx, "matmul", "cuda:0")
//	defer mm.In(64, 784).In(784, 256).Out(64, 256).End()
//
// An Op is used by one goroutine at a time. Copies stand for the same operation.
type Op struct {
	span  trace.Span
	state *opState // nil where nothing is recorded
	use   uint64   // of state: an Op whose state went to another operation is over
}

// opState collects the attributes of an operation until it ends. States are
// pooled: nothing is allocated per operation.
type opState struct {
	tracer *Tracer
	use    atomic.Uint64 // how many operations have ended with this state
	attrs  []attribute.KeyValue
	// extra holds the attributes of the caller. They come last, so that they are
	// the first that the SDK's limit of attributes drops.
	extra   []attribute.KeyValue
	inputs  shapes.Key
	inCount int
	output  shapes.Key // empty while it is not known

	// The options of a span whose times are given.
	start [1]trace.SpanStartOption
	end   [1]trace.SpanEndOption
}

// live returns the state while the operation has not ended.
func (o Op) live() *opState {
	if o.state == nil || o.state.use.Load() != o.use {
		return nil
	}
	return o.state
}

// set adds an attribute of the convention.
func (o Op) set(kv attribute.KeyValue) Op {
	if s := o.live(); s != nil {
		s.attrs = append(s.attrs, kv)
	}
	return o
}

// In adds the shape of an input, in order. Without dimensions the input is a scalar, and a dimension
// of op.Dynamic is not known. dims is copied.
func (o Op) In(dims ...int64) Op {
	// One more than readers take, so that they see that there were more.
	if s := o.live(); s != nil && s.inCount <= op.MaxInputs {
		s.inputs = s.inputs.Append(dims)
		s.inCount++
	}
	return o
}

// Out sets the shape of the output, as In adds those of inputs.
func (o Op) Out(dims ...int64) Op {
	if s := o.live(); s != nil {
		s.output = s.output[:0].Append(dims)
	}
	return o
}

// DType sets the element type of the output.
func (o Op) DType(t op.DType) Op { return o.set(tensorconv.DType(t)) }

// Device sets the device, such as "cuda:0", in place of the one at the start.
func (o Op) Device(id string) Op { return o.set(tensorconv.DeviceID(id)) }

// Stream sets the queue of the device.
func (o Op) Stream(id int64) Op { return o.set(tensorconv.StreamID(id)) }

// Kind sets the kind of the operation, which is inferred from the name otherwise.
func (o Op) Kind(k op.Kind) Op { return o.set(tensorconv.OpKind(k)) }

// Path sets the layer or module.
func (o Op) Path(path string) Op { return o.set(tensorconv.OpPath(path)) }

// FLOPs sets the number of floating-point operations.
func (o Op) FLOPs(n int64) Op { return o.set(tensorconv.OpFLOPCount(n)) }

// Err marks the operation as failed, unless err is nil: o.Err(err).End() serves both outcomes.
func (o Op) Err(err error) Op {
	if o.span != nil && err != nil {
		o.span.SetStatus(codes.Error, errorText(err))
	}
	return o
}

// Attrs adds further attributes, such as the caller's own. Of attributes with equal keys the last one
// counts, and these count more than those of the other methods.
func (o Op) Attrs(attrs ...attribute.KeyValue) Op {
	if s := o.live(); s != nil {
		s.extra = append(s.extra, attrs...)
	}
	return o
}

// Span returns the operation's span, to add events or links to it.
func (o Op) Span() trace.Span { return spanOrNoop(o.span) }

func spanOrNoop(s trace.Span) trace.Span {
	if s == nil {
		return trace.SpanFromContext(context.Background())
	}
	return s
}

// End ends the operation now. A second End does nothing.
func (o Op) End() {
	if o.finish() {
		o.span.End()
	}
}

// EndAt is End at a time in Unix nanoseconds, for engines that learn of the end later.
func (o Op) EndAt(unixNano int64) {
	checkTime(unixNano)
	if o.finish() {
		o.span.End(trace.WithTimestamp(time.Unix(0, unixNano)))
	}
}

// finish sets the attributes, and reports whether the operation was under way.
func (o Op) finish() bool {
	if o.span == nil {
		return false
	}
	if o.state == nil {
		return true // the span itself knows whether it has ended
	}
	s := o.live()
	// Whoever increments the counter owns the end.
	if s == nil || !s.use.CompareAndSwap(o.use, o.use+1) {
		return false
	}
	if s.inCount > 0 {
		s.attrs = append(s.attrs, s.tracer.shapes.Inputs(s.inputs))
	}
	if len(s.output) > 0 {
		s.attrs = append(s.attrs, s.tracer.shapes.Output(s.output))
	}
	s.attrs = append(s.attrs, s.extra...)
	o.span.SetAttributes(s.attrs...)
	s.tracer.recycle(s)
	return true
}

// recycle empties s for another operation. The pool must not keep the application's own values alive,
// but may keep names, paths and shapes: clearing them costs as much as looking up a shape.
func (t *Tracer) recycle(s *opState) {
	if len(s.extra) > 0 {
		clear(s.attrs)
		clear(s.extra)
	}
	s.attrs, s.extra = s.attrs[:0], s.extra[:0]
	s.inputs, s.inCount, s.output = s.inputs[:0], 0, s.output[:0]
	t.pool.Put(s)
}

// errorText returns the text of err. That of an error that panics when it is asked, such as a nil
// pointer of some type, says so.
func errorText(err error) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("%T panicked in Error: %v", err, r)
		}
	}()
	return err.Error()
}
