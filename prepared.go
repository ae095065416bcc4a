package optrace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/shapes"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// OpSpec describes an operation that repeats.
type OpSpec struct {
	// Name is required: the operation's and the span's name.
	Name string
	// Device is where it runs, "" where that is not known; Stream is the
	// device's queue.
	Device string
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
	// Attrs are further attributes.
	Attrs []attribute.KeyValue
}

// Prepared is an operation whose attributes have been built once, so that
// recording it costs what its span costs and nothing on top. It is safe for
// concurrent use.
type Prepared struct {
	tracer *Tracer
	name   string
	attrs  []attribute.KeyValue
}

// Prepare builds the attributes of an operation that repeats. It fails where
// spec has no name or a dimension below op.Dynamic.
func (t *Tracer) Prepare(spec OpSpec) (*Prepared, error) {
	if spec.Name == "" {
		return nil, errors.New("preparing an operation: no name")
	}
	for _, s := range append(slices.Clone(spec.Inputs), spec.Output) {
		if _, w := s.Elements(); w&op.WarnBadShape != 0 {
			return nil, fmt.Errorf("preparing %s: shape %v has a dimension below %d", spec.Name, []int64(s), op.Dynamic)
		}
	}
	p := &Prepared{tracer: t, name: spec.Name, attrs: []attribute.KeyValue{tensorconv.OpName(spec.Name)}}
	add := func(kv attribute.KeyValue) { p.attrs = append(p.attrs, kv) }
	if spec.Device != "" {
		add(tensorconv.DeviceID(spec.Device))
	}
	if spec.Stream.Known {
		add(tensorconv.StreamID(spec.Stream.V))
	}
	if spec.Path != "" {
		add(tensorconv.OpPath(spec.Path))
	}
	if spec.Kind != op.KindUnknown {
		add(tensorconv.OpKind(spec.Kind))
	}
	if spec.Inputs != nil {
		var key shapes.Key
		for _, s := range spec.Inputs[:min(len(spec.Inputs), op.MaxInputs+1)] {
			key = key.Append(s)
		}
		add(t.shapes.Inputs(key))
	}
	if spec.Output != nil {
		add(t.shapes.Output(shapes.Key(nil).Append(spec.Output)))
	}
	if spec.DType != "" {
		add(tensorconv.DType(spec.DType))
	}
	if spec.FLOPs.Known {
		add(tensorconv.OpFLOPCount(spec.FLOPs.V))
	}
	p.attrs = slices.Clip(append(p.attrs, spec.Attrs...))
	return p, nil
}

// Start starts the operation; see [Tracer.Start]. In, Out and DType of the
// returned Op do nothing, Err and Attrs add to what was prepared; of equal keys
// the last wins.
func (p *Prepared) Start(ctx context.Context) (context.Context, Op) {
	if ctx == nil {
		ctx = context.Background()
	}
	step, hasStep := stepFromContext(ctx)
	ctx, span := p.tracer.tracer.Start(ctx, p.name)
	o := Op{span: span, prepared: true}
	switch {
	case !span.IsRecording():
	case hasStep:
		// One call for all: a second one would make the SDK allocate again.
		s := p.tracer.pool.Get().(*opState)
		s.attrs = append(append(s.attrs, p.attrs...), tensorconv.Step(step))
		span.SetAttributes(s.attrs...)
		p.tracer.recycle(s)
	default:
		span.SetAttributes(p.attrs...)
	}
	return ctx, o
}
