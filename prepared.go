package optrace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/record/shapes"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// OpSpec describes an operation that repeats.
type OpSpec struct {
	// Name is required: the name of the operation and of the span.
	Name string
	// Device is where it runs, such as "cuda:0"; "" where that is not known.
	Device string
	// Stream is the queue of the device.
	Stream op.Int
	// Path is the layer or module.
	Path string
	// Kind is inferred from the name where it is left out.
	Kind op.Kind
	// Inputs holds the shape of each input; nil leaves them unknown.
	Inputs []op.Shape
	// Output is the shape of the output; nil leaves it unknown, op.Shape{} is
	// a scalar.
	Output op.Shape
	// DType is the element type of the output.
	DType op.DType
	// FLOPs is the number of floating-point operations.
	FLOPs op.Int
	// Attrs are further attributes. Of attributes with equal keys the last one
	// counts.
	Attrs []attribute.KeyValue
}

// Prepared is an operation whose attributes have been built once, so that recording it costs what
// its span costs. It is safe for concurrent use.
type Prepared struct {
	tracer *Tracer
	name   string
	attrs  []attribute.KeyValue // of different keys, without room behind them
	stream streamKey
}

// streamKey is a stream of a device.
type streamKey struct {
	device string
	stream op.Int
}

// Prepare builds the attributes of an operation that repeats, once for all its executions. What spec refers
// to is copied. It returns an error if spec has no name, a dimension below op.Dynamic, a negative number of
// FLOPs or bytes or a negative stream, or if it is a product of two matrices that cannot be multiplied,
// transposed or not.
func (t *Tracer) Prepare(spec OpSpec) (*Prepared, error) {
	if spec.Name == "" {
		return nil, errors.New("optrace: preparing an operation: no name")
	}
	t = t.orOff()
	p := &Prepared{
		tracer: t, name: spec.Name, stream: streamKey{spec.Device, spec.Stream}, attrs: make([]attribute.KeyValue, 0, 9+len(spec.Attrs)),
	}
	add := func(known bool, kv attribute.KeyValue) {
		if known {
			p.attrs = setAttribute(p.attrs, kv)
		}
	}
	add(true, tensorconv.OpName(spec.Name))
	add(spec.Device != "", tensorconv.DeviceID(spec.Device))
	add(spec.Stream.Known, tensorconv.StreamID(spec.Stream.V))
	add(spec.Path != "", tensorconv.OpPath(spec.Path))
	add(spec.Kind != op.KindUnknown, tensorconv.OpKind(spec.Kind))
	if spec.Inputs != nil {
		inputs, err := spec.key(spec.Inputs...)
		if err != nil {
			return nil, err
		}
		add(true, t.shapes.Inputs(inputs))
	}
	if spec.Output != nil {
		output, err := spec.key(spec.Output)
		if err != nil {
			return nil, err
		}
		add(true, t.shapes.Output(output))
	}
	add(spec.DType != "", tensorconv.DType(spec.DType))
	add(spec.FLOPs.Known, tensorconv.OpFLOPCount(spec.FLOPs.V))
	for _, kv := range spec.Attrs {
		add(true, kv)
	}
	if err := checkSpec(&spec, p.attrs); err != nil {
		return nil, fmt.Errorf("optrace: preparing %s: %w", spec.Name, err)
	}
	p.attrs = slices.Clip(p.attrs)
	return p, nil
}

// checkSpec returns an error where an operation cannot be as spec and its attributes say.
func checkSpec(spec *OpSpec, attrs []attribute.KeyValue) error {
	for _, kv := range attrs {
		isCount := kv.Key == tensorconv.OpFLOPCountKey || kv.Key == tensorconv.StreamIDKey || kv.Key == tensorconv.MemorySizeKey
		if isCount && kv.Value.Type() == attribute.INT64 && kv.Value.AsInt64() < 0 {
			return fmt.Errorf("%s is negative: %d", kv.Key, kv.Value.AsInt64())
		}
	}
	if opmodel.CannotMultiply(spec.Name, spec.Inputs) {
		return fmt.Errorf("shapes %v and %v cannot be multiplied: no dimension of the one is a dimension of the other",
			[]int64(spec.Inputs[0]), []int64(spec.Inputs[1]))
	}
	return nil
}

// key returns the key of the shapes in the Tracer's cache.
func (spec *OpSpec) key(all ...op.Shape) (key shapes.Key, err error) {
	for i, s := range all {
		if _, w := s.Elements(); w&op.WarnBadShape != 0 {
			return nil, fmt.Errorf("optrace: preparing %s: shape %v has a dimension below %d", spec.Name, []int64(s), op.Dynamic)
		}
		if i <= op.MaxInputs { // one more than readers take, so that they see that there were more
			key = key.Append(s)
		}
	}
	return key, nil
}

// setAttribute sets kv in place of the attribute of the same key, or behind the others.
func setAttribute(attrs []attribute.KeyValue, kv attribute.KeyValue) []attribute.KeyValue {
	for i := range attrs {
		if attrs[i].Key == kv.Key {
			attrs[i] = kv
			return attrs
		}
	}
	return append(attrs, kv)
}

// Start starts the operation; see [Tracer.Start]. A nil or zero Prepared starts nothing.
func (p *Prepared) Start(ctx context.Context) (context.Context, PreparedOp) { return p.start(ctx) }

func (p *Prepared) start(ctx context.Context, opts ...trace.SpanStartOption) (context.Context, PreparedOp) {
	ctx = orBackground(ctx)
	if p == nil || p.tracer == nil {
		return ctx, PreparedOp{}
	}
	ctx, span := p.tracer.tracer.Start(ctx, p.name, opts...)
	if span.IsRecording() {
		p.setAttributes(ctx, span, 0, nil)
	}
	return ctx, PreparedOp{span}
}

// setAttributes sets the attributes of an execution with one call: for a second one the SDK allocates again.
func (p *Prepared) setAttributes(ctx context.Context, span trace.Span, launch int64, further []attribute.KeyValue) {
	step, hasStep := stepFromContext(ctx)
	if launch == 0 && !hasStep && len(further) == 0 {
		span.SetAttributes(p.attrs...)
		return
	}
	s := p.tracer.pool.Get().(*opState)
	s.attrs = append(s.attrs, p.attrs...)
	if launch != 0 {
		s.attrs = append(s.attrs, tensorconv.LaunchTime(launch))
	}
	if hasStep {
		s.attrs = append(s.attrs, tensorconv.Step(step))
	}
	s.attrs = append(s.attrs, further...)
	span.SetAttributes(s.attrs...)
	if len(further) > 0 {
		clear(s.attrs) // the application's own
	}
	p.tracer.recycle(s)
}

// PreparedOp is a prepared operation under way; see [Prepared.Start]. The zero PreparedOp does
// nothing, and after End its methods do nothing. It is used by one goroutine at a time. Copies stand
// for the same operation.
type PreparedOp struct{ span trace.Span }

// Err marks the operation as failed, unless err is nil.
func (o PreparedOp) Err(err error) PreparedOp {
	Op{span: o.span}.Err(err)
	return o
}

// Attrs adds attributes. Of attributes with equal keys the last one counts.
func (o PreparedOp) Attrs(attrs ...attribute.KeyValue) PreparedOp {
	if o.span != nil {
		o.span.SetAttributes(attrs...)
	}
	return o
}

// Span returns the operation's span, to add events or links to it.
func (o PreparedOp) Span() trace.Span { return spanOrNoop(o.span) }

// End ends the operation now. A second End does nothing.
func (o PreparedOp) End() { Op{span: o.span}.End() }

// EndAt is End at a time in Unix nanoseconds, for engines that learn of the end later.
func (o PreparedOp) EndAt(unixNano int64) { Op{span: o.span}.EndAt(unixNano) }
