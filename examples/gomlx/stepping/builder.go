package stepping

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// Builder builds a graph whose operations are executables of their own. The methods of
// the operations are those of the embedded field.
type Builder struct {
	ops
	backend *Backend
	name    string

	steps      []*step // in the order in which they were built, inputs first
	values     int     // how many there are
	parameters []*value
	names      []string // of the parameters
	constants  []constant
}

// value is what a parameter, a constant or an operation yields: the [backends.Op] of
// this package.
type value struct {
	builder *Builder
	index   int // among the values of the graph
	shape   shapes.Shape
	step    *step // that computes it; nil for others
}

// constant is a value that is there before the graph runs.
type constant struct {
	value  *value
	buffer backends.Buffer
}

func (b *Builder) newValue(shape shapes.Shape, computedBy *step) *value {
	v := &value{builder: b, index: b.values, shape: shape, step: computedBy}
	b.values++
	return v
}

// own returns the value that x is.
func (b *Builder) own(x backends.Op) (*value, error) {
	v, ok := x.(*value)
	if !ok || v == nil || v.builder != b {
		return nil, fmt.Errorf("stepping: graph %q: operand %v is not of this graph", b.name, x)
	}
	return v, nil
}

// Name returns the name of the graph.
func (b *Builder) Name() string { return b.name }

// OpShape returns the shape of a value.
func (b *Builder) OpShape(x backends.Op) (shapes.Shape, error) {
	v, err := b.own(x)
	if err != nil {
		return shapes.Invalid(), err
	}
	return v.shape, nil
}

// Parameter adds an input of the graph.
func (b *Builder) Parameter(name string, shape shapes.Shape, sharding *backends.ShardingSpec) (backends.Op, error) {
	if sharding != nil {
		return nil, errSharding
	}
	v := b.newValue(shape, nil)
	b.parameters, b.names = append(b.parameters, v), append(b.names, name)
	return v, nil
}

// Constant adds a constant. It is copied to the device now.
func (b *Builder) Constant(flat any, dims ...int) (backends.Op, error) {
	inner := b.backend.Backend.Builder(b.name) // checks what it is given
	c, err := inner.Constant(flat, dims...)
	if err != nil {
		return nil, err
	}
	shape, err := inner.OpShape(c)
	if err != nil {
		return nil, err
	}
	buffer, err := b.backend.BufferFromFlatData(0, flat, shape)
	if err != nil {
		return nil, err
	}
	v := b.newValue(shape, nil)
	b.constants = append(b.constants, constant{v, buffer})
	return v, nil
}

var errSharding = errors.New("stepping: one device only, no sharding")

// DistributedSPMD returns an error unless numDevices is 1.
func (b *Builder) DistributedSPMD(numDevices int) error {
	if numDevices != 1 {
		return errSharding
	}
	return nil
}

// DistributedAutoSharding returns an error.
func (b *Builder) DistributedAutoSharding(...backends.Mesh) error { return errSharding }

// DeviceAssignment returns an error unless it is given the first device.
func (b *Builder) DeviceAssignment(devices ...backends.DeviceNum) error {
	if !slices.Equal(devices, []backends.DeviceNum{0}) {
		return errSharding
	}
	return nil
}

// Compile returns an executable that runs the steps which the outputs need.
func (b *Builder) Compile(outputs []backends.Op, shardings []*backends.ShardingSpec) (backends.Executable, error) {
	if len(shardings) > 0 {
		return nil, errSharding
	}
	results := make([]*value, len(outputs))
	for i, x := range outputs {
		v, err := b.own(x)
		if err != nil {
			return nil, err
		}
		// Whoever executes the graph owns the outputs: an output that is an input, a constant or
		// there twice is a copy.
		if v.step == nil || slices.Contains(results[:i], v) {
			if v, err = b.copied(v); err != nil {
				return nil, err
			}
		}
		results[i] = v
	}
	return newExecutable(b, results)
}

// copied adds a step that copies v.
func (b *Builder) copied(v *value) (*value, error) {
	x, err := b.Identity(v)
	if err != nil {
		return nil, err
	}
	return b.own(x)
}
