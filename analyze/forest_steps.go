package analyze

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// Step is a row of the step table: one iteration over all devices and ranks.
type Step struct {
	Step int64 `json:"step"`
	// Count is the number of operations, Sum the sum of their durations in
	// nanoseconds.
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// Wall is the last end minus the first start, Busy the part of it in which
	// anything ran on any device; nil when no operation of the step has a start.
	WallNS op.Int `json:"wall_ns"`
	BusyNS op.Int `json:"busy_ns"`
}

// Steps returns the steps in ascending order, over the operations that have a
// step and are not the host's view. It returns nil unless some step holds
// several operations: where each has its own, as in a seed trace, the number
// is an ordinal and not an iteration.
func (f *Forest) stepRows() []Step {
	f.build()
	var rows []int32
	for r := range int32(f.rows()) {
		if f.isDeviceSide(r) && f.has(r, flagStep) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b int32) int {
		return cmp.Or(
			compareInt(f.step(a), f.step(b)),
			int(f.flags(b)&flagStart)-int(f.flags(a)&flagStart), // known starts first
			f.compareStart(a, b),
		)
	})
	var steps []Step
	several := false
	for len(rows) > 0 {
		number := f.step(rows[0])
		n := slices.IndexFunc(rows, func(r int32) bool { return f.step(r) != number })
		if n < 0 {
			n = len(rows)
		}
		steps = append(steps, f.sumStep(number, rows[:n]))
		several = several || n > 1
		rows = rows[n:]
	}
	if !several {
		return nil
	}
	return steps
}

// sumStep sums up the rows of one step, those with a start first and by start.
func (f *Forest) sumStep(number int64, rows []int32) Step {
	step := Step{Step: number, Count: int64(len(rows))}
	var sum wide.Sum
	for _, r := range rows {
		sum.Add(f.duration(r))
	}
	step.SumNS = sum.Int64()
	started := slices.IndexFunc(rows, func(r int32) bool { return !f.has(r, flagStart) })
	if started < 0 {
		started = len(rows)
	}
	if started > 0 {
		var parts deviceParts
		for s := range f.sweep(rows[:started]) {
			parts.add(s)
		}
		step.WallNS, step.BusyNS = op.Known(parts.Span), op.Known(parts.Busy)
	}
	return step
}
