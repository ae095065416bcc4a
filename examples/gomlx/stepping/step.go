package stepping

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/backends"

	"github.com/optrace/optrace/op"
)

// step is one operation of a graph, compiled by itself. While it is being built it
// is the graph of a builder of its own, with a parameter for each input.
type step struct {
	backends.Builder // of the step alone; nil once it is compiled
	graph            *Builder
	name, path       string
	err              error // of an operand

	operands   []*value      // as the operation was given them
	inputs     []*value      // each operand once
	parameters []backends.Op // that stand for the inputs
	outputs    []*value
	flops      op.Int // as far as the shapes alone do not tell

	compiled backends.Executable
}

// begin begins the operation of a name.
func (b *Builder) begin(name string) *step {
	_, path := b.backend.current()
	return &step{Builder: b.backend.Backend.Builder(name), graph: b, name: name, path: cmp.Or(path, b.name)}
}

// in returns what stands for the operand x in the graph of the step. It keeps the
// first error for end.
func (s *step) in(x backends.Op) backends.Op {
	v, err := s.graph.own(x)
	if err != nil {
		s.err = cmp.Or(s.err, err)
		return nil
	}
	s.operands = append(s.operands, v)
	if i := slices.Index(s.inputs, v); i >= 0 {
		return s.parameters[i]
	}
	p, err := s.Parameter(fmt.Sprintf("input_%d", len(s.inputs)), v.shape, nil)
	if err != nil {
		s.err = cmp.Or(s.err, err)
		return nil
	}
	s.inputs, s.parameters = append(s.inputs, v), append(s.parameters, p)
	return p
}

// all is in for a list of operands.
func (s *step) all(list []backends.Op) []backends.Op {
	own := make([]backends.Op, len(list))
	for i, x := range list {
		own[i] = s.in(x)
	}
	return own
}

// end compiles the step and returns its outputs as values of the graph. err and
// outputs are what the method of the step's own builder returned.
func (s *step) end(err error, outputs ...backends.Op) ([]backends.Op, error) {
	if err := cmp.Or(s.err, err); err != nil {
		return make([]backends.Op, len(outputs)), err
	}
	if len(outputs) == 0 {
		return nil, fmt.Errorf("stepping: graph %q: %s has no output", s.graph.name, s.name)
	}
	values := make([]backends.Op, len(outputs))
	for i, x := range outputs {
		shape, err := s.OpShape(x)
		if err != nil {
			return make([]backends.Op, len(outputs)), err
		}
		v := s.graph.newValue(shape, s)
		s.outputs, values[i] = append(s.outputs, v), v
	}
	if s.compiled, err = s.Compile(outputs, nil); err != nil {
		return make([]backends.Op, len(outputs)), err
	}
	s.Builder, s.parameters = nil, nil
	s.graph.steps = append(s.graph.steps, s)
	return values, nil
}

// end1 is end for an operation with one output.
func (s *step) end1(output backends.Op, err error) (backends.Op, error) {
	values, err := s.end(err, output)
	return values[0], err
}
