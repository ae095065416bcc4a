package optrace

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/shapes"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Op is a running operation; see [Tracer.Start] and [Prepared.Start]. Its methods describe the operation and return it
// for chaining. After End they have no effect. The zero Op is a no-op.
//
//	ctx, mm := tr.Start(ctx, "matmul", "cuda:0")
//	defer mm.In(64, 784).In(784, 256).Out(64, 256).End()
//
// One goroutine uses an Op at a time. Copies stand for the same operation.
type Op struct {
	span  trace.Span
	state *opState // nil unless Tracer.Start made a recorded span
	use   uint64   // equals state.use until the operation ends; preparedUse without a state
}

// preparedUse marks a recorded Op of Prepared.Start.
const preparedUse = 1

// opState collects the attributes of one operation. States are pooled, to save allocations.
type opState struct {
	tracer *Tracer
	use    atomic.Uint64 // counts the operations that ended with this state
	attrs  []attribute.KeyValue
	// extra holds the caller's attributes. They come last, so that the SDK's limit of attributes drops them first.
	extra   []attribute.KeyValue
	inputs  shapes.Key
	inCount int
	output  shapes.Key // empty if unknown

	// Options of a span with given times.
	start [1]trace.SpanStartOption
	end   [1]trace.SpanEndOption
}

// live returns the state until the operation ends.
func (o Op) live() *opState {
	if o.state == nil || o.state.use.Load() != o.use {
		return nil
	}
	return o.state
}

// set adds an attribute of the conventions.
func (o Op) set(kv attribute.KeyValue) Op {
	if s := o.live(); s != nil {
		s.attrs = append(s.attrs, kv)
	} else if o.isPrepared() {
		o.span.SetAttributes(kv)
	}
	return o
}

func (o Op) isPrepared() bool { return o.state == nil && o.use == preparedUse }

// In adds the shape of the next input. No dimensions mean a scalar; [op.Dynamic] is an unknown dimension. In copies
// dims. A prepared operation keeps the input shapes of its [OpSpec].
func (o Op) In(dims ...int64) Op {
	// One input beyond the readers' limit tells them of the excess.
	if s := o.live(); s != nil && s.inCount <= op.MaxInputs {
		s.inputs = s.inputs.Append(dims)
		s.inCount++
	}
	return o
}

// Out sets the shape of the output, with dims as for In. A prepared operation keeps the output of its [OpSpec].
func (o Op) Out(dims ...int64) Op {
	if s := o.live(); s != nil {
		s.output = s.output[:0].Append(dims)
	}
	return o
}

// DType sets the element type of the output.
func (o Op) DType(t op.DType) Op { return o.set(tensorconv.DType(t)) }

// Device replaces the device, such as "cuda:0".
func (o Op) Device(id string) Op { return o.set(tensorconv.DeviceID(id)) }

// Stream sets the device's stream.
func (o Op) Stream(id int64) Op { return o.set(tensorconv.StreamID(id)) }

// Kind sets the kind of the operation. By default readers infer it from the name.
func (o Op) Kind(k op.Kind) Op { return o.set(tensorconv.OpKind(k)) }

// Path sets the layer or module.
func (o Op) Path(path string) Op { return o.set(tensorconv.OpPath(path)) }

// FLOPs sets the number of floating-point operations.
func (o Op) FLOPs(n int64) Op { return o.set(tensorconv.OpFLOPCount(n)) }

// Err marks the operation as failed. A nil err has no effect, so that o.Err(err).End() serves both outcomes.
func (o Op) Err(err error) Op {
	if o.span != nil && err != nil {
		o.span.SetStatus(codes.Error, errorText(err))
	}
	return o
}

// Attrs adds attributes. The last attribute of a key wins, and attributes of Attrs win over the other methods. On a
// prepared operation the later call wins.
func (o Op) Attrs(attrs ...attribute.KeyValue) Op {
	if s := o.live(); s != nil {
		s.extra = append(s.extra, attrs...)
	} else if o.isPrepared() {
		o.span.SetAttributes(slices.Clone(attrs)...) // so that attrs stays on the caller's stack
	}
	return o
}

// Span returns the operation's span, to add events or links. It is never nil.
func (o Op) Span() trace.Span {
	if o.span == nil {
		return trace.SpanFromContext(context.Background())
	}
	return o.span
}

// End ends the operation now. A second End has no effect.
func (o Op) End() {
	if o.finish() {
		o.span.End()
	}
}

// finish sets the attributes and reports whether the operation was running.
func (o Op) finish() bool {
	if o.span == nil {
		return false
	}
	if o.state == nil {
		return true // the span ignores a second End
	}
	s := o.live()
	// The goroutine that increments the counter ends the operation.
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

// recycle empties s and returns it to the pool. It clears the application's values. Names, paths and shapes may stay:
// clearing them costs as much as a lookup of a shape.
func (t *Tracer) recycle(s *opState) {
	if len(s.extra) > 0 {
		clear(s.attrs)
		clear(s.extra)
	}
	s.attrs = s.attrs[:0]
	s.extra = s.extra[:0]
	s.inputs = s.inputs[:0]
	s.inCount = 0
	s.output = s.output[:0]
	t.pool.Put(s)
}

// errorText returns err's text, or the panic of its Error method.
func errorText(err error) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("%T panicked in Error: %v", err, r)
		}
	}()
	return err.Error()
}
