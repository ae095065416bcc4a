package stepping

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/optrace/optrace"
)

// executable runs the steps of a graph in order.
type executable struct {
	backend    *Backend
	values     int // how many there are
	parameters []*value
	names      []string
	constants  []constant
	steps      []plannedStep
	outputs    []*value
	maxInputs  int // of a step
}

// plannedStep is a step, and what becomes of its values.
type plannedStep struct {
	compiled backends.Executable
	inputs   []*value
	last     []bool // for each input: no later step and no output needs it
	outputs  []*value
	prepared *optrace.Prepared
}

// newExecutable plans the execution of the steps of b that the outputs need.
func newExecutable(b *Builder, outputs []*value) (*executable, error) {
	e := &executable{
		backend: b.backend, values: b.values, parameters: b.parameters, names: b.names, constants: b.constants, outputs: outputs,
	}
	needed := make([]bool, b.values) // by the outputs, or by a step that has been planned
	for _, v := range outputs {
		needed[v.index] = true
	}
	for _, s := range slices.Backward(b.steps) {
		if !slices.ContainsFunc(s.outputs, func(v *value) bool { return needed[v.index] }) {
			s.compiled.Finalize()
			continue
		}
		p := plannedStep{compiled: s.compiled, inputs: s.inputs, outputs: s.outputs}
		for _, v := range s.inputs {
			p.last = append(p.last, !needed[v.index])
			needed[v.index] = true
		}
		if t := b.backend.tracer; t != nil {
			var err error
			if p.prepared, err = t.Prepare(s.spec(b.backend.device)); err != nil {
				return nil, err
			}
		}
		e.steps = append(e.steps, p)
		e.maxInputs = max(e.maxInputs, len(p.inputs))
	}
	slices.Reverse(e.steps)
	return e, nil
}

// Inputs returns the names and the shapes of the parameters.
func (e *executable) Inputs() (names []string, inputShapes []shapes.Shape) {
	return e.names, shapesOf(e.parameters)
}

// Outputs returns the shapes of the outputs.
func (e *executable) Outputs() []shapes.Shape { return shapesOf(e.outputs) }

func shapesOf(values []*value) []shapes.Shape {
	var all []shapes.Shape
	for _, v := range values {
		all = append(all, v.shape)
	}
	return all
}

// Finalize frees the compiled steps and the constants.
func (e *executable) Finalize() {
	for _, s := range e.steps {
		s.compiled.Finalize()
	}
	for _, c := range e.constants {
		_ = e.backend.BufferFinalize(c.buffer) // fails if the backend has ended, with the buffer
	}
	e.steps, e.constants = nil, nil
}

// Execute runs the steps, and records each from its beginning to that of the next.
func (e *executable) Execute(inputs []backends.Buffer, donate []bool, device backends.DeviceNum) ([]backends.Buffer, error) {
	switch {
	case device != 0:
		return nil, errSharding
	case len(inputs) != len(e.parameters):
		return nil, fmt.Errorf("stepping: %d inputs, want %d", len(inputs), len(e.parameters))
	case len(donate) != 0 && len(donate) != len(inputs):
		return nil, fmt.Errorf("stepping: whether %d inputs are donated, want %d", len(donate), len(inputs))
	}
	r := newRun(e, inputs, donate)
	defer r.recorder.finish()
	for i := range e.steps {
		if err := r.step(&e.steps[i]); err != nil {
			return nil, errors.Join(err, r.release())
		}
	}
	outputs := make([]backends.Buffer, len(e.outputs))
	for i, v := range e.outputs {
		outputs[i] = r.take(v)
	}
	return outputs, r.release()
}
