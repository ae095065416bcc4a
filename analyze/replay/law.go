package replay

import (
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/internal/serving"
	"github.com/optrace/optrace/analyze/trace"
)

// Slow are the calls of an operation in the steps of engines that take many times what the law says at their load.
type Slow struct {
	Operation          string
	Calls, All         int64
	ExcessNS           int64
	LongestNS, UsualNS int64 // of the slowest call
}

// Slow returns the operations with calls that take more than times what the law says, by name. First steps are left out.
func (g *Graph) Slow(times float64) (all []Slow) {
	of := make(map[int32]int) // by name
	f := g.forest
	for r := range f.Rows() {
		s, law := g.inStep(r)
		if s == nil || g.begin[r] == none || !g.isOnDevice(r) || !f.Has(r, trace.FlagOp) {
			continue
		}
		i, known := of[f.Name(r)]
		if !known {
			i = len(all)
			of[f.Name(r)] = i
			all = append(all, Slow{Operation: f.RowName(r)})
		}
		all[i].All++
		ns := f.Duration(r)
		if usual := int64(law); usual > 0 && float64(ns) > times*law {
			all[i].Calls++
			all[i].ExcessNS += ns - usual
			if ns > all[i].LongestNS {
				all[i].LongestNS, all[i].UsualNS = ns, usual
			}
		}
	}
	return all
}

// inStep returns the step of row r if its engine has laws and loads, and the time of the operation by the law. It returns nil
// for other rows, and for the first step of an engine.
func (g *Graph) inStep(r int32) (s *batching.Step, law float64) {
	x := g.rows.ExecutionOf(r)
	if x == trace.NoExecution {
		return nil, 0
	}
	in, known := g.lawful()[x]
	if !known {
		return nil, 0
	}
	return in.step, in.engine.Laws.Of(g.forest.Name(r), in.step).At(in.step.Load)
}

// lawfulStep is a step of an engine with laws.
type lawfulStep struct {
	engine *serving.Engine
	step   *batching.Step
}

// lawfulSteps returns the steps of engines with laws and known loads by their executions, without the first ones.
func (g *Graph) lawfulSteps() map[int32]lawfulStep {
	steps := make(map[int32]lawfulStep)
	for _, e := range g.found() {
		if e.Single || e.ToLongest || !e.KnowsLoads() {
			continue
		}
		for i := range e.Steps[1:] {
			s := &e.Steps[1+i]
			steps[s.Execution] = lawfulStep{e, s}
		}
	}
	return steps
}
