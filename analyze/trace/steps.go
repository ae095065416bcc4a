package trace

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/op"
)

// belowSteps returns the nearest step span at or above each row, or NoRow.
func (f *Forest) belowSteps() []int32 {
	above := noRows(f.Rows())
	if len(f.Names.Marks.Values) < 2 {
		return above
	}
	for r := range f.Tree.TopDown() {
		switch parent := f.Tree.Parent[r]; {
		case !f.Has(r, FlagOp) && f.Mark(r) != 0:
			above[r] = r
		case parent != NoRow:
			above[r] = above[parent]
		}
	}
	return above
}

// buildSteps sets the step of operations without one to the nearest step span above them. It numbers steps without a
// number by start, in the process of their operations.
func (f *Forest) buildSteps() {
	if len(f.Names.Marks.Values) < 2 {
		return
	}
	above := f.belowSteps()
	f.numberSteps(above)
	for r, step := range above {
		r := int32(r)
		if step == NoRow || !f.Has(r, FlagOp) || f.Has(r, FlagStep) || !f.Has(step, FlagStep) {
			continue
		}
		mark := f.Names.Marks.Values[f.Mark(r)]
		mark.StepName = cmp.Or(mark.StepName, f.RowName(step))
		f.setStep(r, f.Step(step))
		f.set(r, colMark, int64(f.Names.Marks.ID(mark)))
	}
}

// BelowSteps returns the steps of operations below step spans, by their spans. f must be built.
func (f *Forest) BelowSteps() map[SpanRef]op.Int {
	steps := make(map[SpanRef]op.Int)
	below := f.belowSteps()
	for r := range f.Rows() {
		if below[r] != NoRow && f.Has(r, FlagOp|FlagStep) {
			steps[SpanRef{f.Names.Traces.Values[f.Trace(r)], SpanID(f.Span(r))}] = op.Known(f.Step(r))
		}
	}
	return steps
}

// numberSteps numbers the step spans without a number above operations: by an operation below, or else by start in a
// process.
func (f *Forest) numberSteps(above []int32) {
	processes := f.Processes()
	of := make(map[int32]int32)
	for r, step := range above {
		r := int32(r)
		if step == NoRow || !f.Has(r, FlagOp) || f.Has(step, FlagStep) {
			continue
		}
		if f.Has(r, FlagStep) {
			f.setStep(step, f.Step(r))
			delete(of, step)
		} else if _, known := of[step]; !known {
			of[step] = processes[f.Lane(r)]
		}
	}
	rows := slices.SortedFunc(maps.Keys(of), func(a, b int32) int {
		return cmp.Or(cmp.Compare(of[a], of[b]), f.CompareStart(a, b))
	})
	for steps := range order.RunsOf(rows, func(r *int32) int32 { return of[*r] }) {
		for i, r := range steps {
			f.setStep(r, int64(i))
		}
	}
}

func (f *Forest) setStep(r int32, step int64) {
	f.setFlags(r, FlagStep)
	f.set(r, colStep, step)
	f.steps.add(f.Lane(r), step)
}
