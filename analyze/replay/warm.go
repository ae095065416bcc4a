package replay

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/trace"
)

// warm shortens the operations of the first step to the median of their like in the other steps. Steps are counted by
// process. Without other steps with the operation it stays. Engines have a first execution instead.
func (g *Graph) warm(v *variant) int64 {
	type same struct {
		process int32
		trace.Likeness
	}
	f := g.forest
	first := make(map[int32]int64)
	for r := range f.Rows() {
		if step, known := first[g.process[r]]; f.Has(r, trace.FlagOp|trace.FlagStep) && (!known || f.Step(r) < step) {
			first[g.process[r]] = f.Step(r)
		}
	}
	times := make(map[same][]int64)
	s := &selection{rows: make([]bool, f.Len())}
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagOp|trace.FlagStep) || g.begin[r] == none || g.executionOf(r) != trace.NoExecution {
			continue
		}
		if f.Step(r) == first[g.process[r]] {
			s.add(r, true)
		} else {
			k := same{g.process[r], g.forest.Likeness(r)}
			times[k] = append(times[k], f.Duration(r))
		}
	}
	medians := make(map[same]int64, len(times))
	for k, list := range times {
		slices.Sort(list)
		medians[k] = list[len(list)/2]
	}
	g.limit(s, v, func(r int32, ns int64) int64 {
		if median, known := medians[same{g.process[r], g.forest.Likeness(r)}]; known {
			return min(ns, median)
		}
		return ns
	})
	return s.count + g.warmEngines(v)
}

// warmEngines shortens the first execution of each engine to the time that the others with or without prompts take for
// its load.
func (g *Graph) warmEngines(v *variant) (n int64) {
	for _, e := range g.engines() {
		first := &e.Steps[0]
		var others []batching.Sample
		for i := range e.Steps[1:] {
			if s := &e.Steps[i+1]; s.Class() == first.Class() {
				others = append(others, batching.Sample{Load: s.Load, NS: float64(s.End - s.Start)})
			}
		}
		if len(others) == 0 {
			continue
		}
		law := batching.Fit(others, false)
		factor := law.At(first.Load) / float64(first.End-first.Start)
		isFirst := func(owner int32) bool { return isRow(owner) && g.executionOf(owner) == first.Execution }
		for e := range g.g.owned(isFirst) {
			if lag := v.Lag(e.index); factor < 1 && lag != dropped {
				v.Set(e.index, int64(factor*float64(lag)))
			}
		}
		n++
	}
	return n
}
