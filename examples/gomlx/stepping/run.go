package stepping

import (
	"errors"
	"fmt"

	"github.com/gomlx/gomlx/backends"

	"github.com/optrace/optrace"
)

// run is one execution of a graph.
type run struct {
	backend  *Backend
	recorder recorder
	// The buffer of each value while it is needed, and whether the run owns it: whether it may be
	// overwritten, and has to be freed.
	buffers []backends.Buffer
	owned   []bool

	inputs []backends.Buffer // of the step under way
	donate []bool
}

// newRun begins an execution with inputs, of which some may be donated.
func newRun(e *executable, inputs []backends.Buffer, donate []bool) *run {
	r := &run{
		backend: e.backend, recorder: newRecorder(e.backend),
		buffers: make([]backends.Buffer, e.values), owned: make([]bool, e.values),
		inputs: make([]backends.Buffer, 0, e.maxInputs), donate: make([]bool, 0, e.maxInputs),
	}
	for i, v := range e.parameters {
		r.buffers[v.index] = inputs[i]
		r.owned[v.index] = len(donate) > 0 && donate[i]
	}
	for _, c := range e.constants {
		r.buffers[c.value.index] = c.buffer
	}
	return r
}

// step runs one step. Inputs that nothing else needs are donated to it.
func (r *run) step(s *plannedStep) error {
	r.recorder.begin(s.prepared)
	r.inputs, r.donate = r.inputs[:0], r.donate[:0]
	for i, v := range s.inputs {
		r.inputs, r.donate = append(r.inputs, r.buffers[v.index]), append(r.donate, s.last[i] && r.owned[v.index])
		if s.last[i] && r.owned[v.index] {
			r.take(v)
		}
	}
	outputs, err := s.compiled.Execute(r.inputs, r.donate, 0)
	if err == nil && len(outputs) != len(s.outputs) {
		err = fmt.Errorf("stepping: %d outputs of an operation, want %d", len(outputs), len(s.outputs))
	}
	if err != nil {
		return r.recorder.failed(err)
	}
	for i, v := range s.outputs {
		r.buffers[v.index], r.owned[v.index] = outputs[i], true
	}
	return nil
}

// take returns the buffer of v, which is the caller's from now on.
func (r *run) take(v *value) backends.Buffer {
	b := r.buffers[v.index]
	r.buffers[v.index], r.owned[v.index] = nil, false
	return b
}

// release frees what the run still owns: inputs that were donated and outputs of operations,
// where nothing needed them, and after an error what was computed before it.
func (r *run) release() (err error) {
	for i, owned := range r.owned {
		if owned {
			err = errors.Join(err, r.backend.BufferFinalize(r.buffers[i]))
			r.buffers[i], r.owned[i] = nil, false
		}
	}
	return err
}

// recorder records the steps of a run. The zero recorder records nothing.
type recorder struct{ r *optrace.Recorder }

func newRecorder(b *Backend) recorder {
	if b.tracer == nil {
		return recorder{}
	}
	ctx, _ := b.current()
	return recorder{b.tracer.Recorder(ctx)}
}

// begin begins a step and ends the one before.
func (r recorder) begin(p *optrace.Prepared) {
	if r.r != nil {
		r.r.BeginPrepared(p)
	}
}

// failed marks the step as failed, and returns err.
func (r recorder) failed(err error) error {
	if r.r != nil {
		r.r.Err(err)
	}
	return err
}

// finish ends the last step and emits all.
func (r recorder) finish() {
	if r.r != nil {
		r.r.Finish()
	}
}
