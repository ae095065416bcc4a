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

// OpSpec describes a repeated operation. Every field except Name is optional.
type OpSpec struct {
	Name   string               // of the operation and of its span
	Device string               // such as "cuda:0"
	Stream op.Int               // of the device
	Path   string               // layer or module
	Kind   op.Kind              // by default readers infer it from the name
	Inputs []op.Shape           // shape of each input; nil is unknown
	Output op.Shape             // shape of the output; nil is unknown, op.Shape{} a scalar
	DType  op.DType             // element type of the output
	FLOPs  op.Int               // number of floating-point operations
	Attrs  []attribute.KeyValue // further attributes; the last one of a key wins
}

// Prepared is an operation with attributes built in advance, so that recording it costs as much as its span. It is safe
// for concurrent use. A nil or zero Prepared is a no-op.
type Prepared struct {
	tracer *Tracer
	name   string
	attrs  []attribute.KeyValue // one for each key, without spare capacity
	stream streamKey
}

// streamKey names a stream of a device.
type streamKey struct {
	device string
	stream op.Int
}

// Prepare builds the attributes of a repeated operation. It copies spec. It returns an error if spec has no name, a
// dimension below [op.Dynamic], a negative stream, a negative number of FLOPs or bytes, or input matrices of
// incompatible shapes, transposed or not.
func (t *Tracer) Prepare(spec OpSpec) (*Prepared, error) {
	if spec.Name == "" {
		return nil, errors.New("optrace: preparing an operation: no name")
	}
	t = t.orOff()
	p := &Prepared{tracer: t, name: spec.Name, stream: streamKey{spec.Device, spec.Stream}}
	p.attrs = make([]attribute.KeyValue, 0, 9+len(spec.Attrs))
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

// checkSpec returns an error if no operation can have the values of spec and attrs.
func checkSpec(spec *OpSpec, attrs []attribute.KeyValue) error {
	counts := []attribute.Key{tensorconv.OpFLOPCountKey, tensorconv.StreamIDKey, tensorconv.MemorySizeKey}
	for _, kv := range attrs {
		if slices.Contains(counts, kv.Key) && kv.Value.Type() == attribute.INT64 && kv.Value.AsInt64() < 0 {
			return fmt.Errorf("%s is negative: %d", kv.Key, kv.Value.AsInt64())
		}
	}
	if opmodel.CannotMultiply(spec.Name, spec.Inputs) {
		return fmt.Errorf("shapes %v and %v cannot be multiplied: they have no dimension in common",
			[]int64(spec.Inputs[0]), []int64(spec.Inputs[1]))
	}
	return nil
}

// key returns the cache key of the shapes all.
func (spec *OpSpec) key(all ...op.Shape) (key shapes.Key, err error) {
	for i, s := range all {
		if _, w := s.Elements(); w&op.WarnBadShape != 0 {
			return nil, fmt.Errorf("optrace: preparing %s: shape %v has a dimension below %d",
				spec.Name, []int64(s), op.Dynamic)
		}
		if i <= op.MaxInputs { // one input beyond the readers' limit tells them of the excess
			key = key.Append(s)
		}
	}
	return key, nil
}

// setAttribute replaces the attribute with kv's key, or appends kv.
func setAttribute(attrs []attribute.KeyValue, kv attribute.KeyValue) []attribute.KeyValue {
	for i := range attrs {
		if attrs[i].Key == kv.Key {
			attrs[i] = kv
			return attrs
		}
	}
	return append(attrs, kv)
}

// Start starts the operation as [Tracer.Start] does.
func (p *Prepared) Start(ctx context.Context) (context.Context, Op) { return p.start(ctx) }

func (p *Prepared) start(ctx context.Context, opts ...trace.SpanStartOption) (context.Context, Op) {
	ctx = orBackground(ctx)
	if p == nil || p.tracer == nil {
		return ctx, Op{}
	}
	ctx, span := p.tracer.tracer.Start(ctx, p.name, opts...)
	if !span.IsRecording() {
		return ctx, Op{span: span}
	}
	p.setAttributes(ctx, span, 0, nil)
	return ctx, Op{span: span, use: preparedUse}
}

// setAttributes sets all attributes of one execution with one call, because the SDK allocates again for a second call.
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
		clear(s.attrs) // do not keep the application's values alive
	}
	p.tracer.recycle(s)
}
