package serving

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/batching"
)

// group has requests that pass the stages of a pipeline together.
type group struct {
	stage    int
	step     int32 // the last one
	first    int32 // the last one at the first stage
	requests []int32
}

// pipeline returns the engine of stages that groups of requests pass one after the other, again and again until they are
// done. It returns nil if requests come to another stage first, or with others than at the stage before.
func (r *finder) pipeline(all []*Engine) *Engine {
	if len(all) < 2 {
		return nil
	}
	e := &Engine{number: make(map[int32]int)}
	for _, of := range all {
		e.Steps = append(e.Steps, of.Steps...)
	}
	slices.SortStableFunc(e.Steps, func(a, b batching.Step) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Execution, b.Execution))
	})
	stages := r.stagesOf(e)
	e.Stages = len(stages)
	if e.Stages != len(all) || len(e.Steps) < enough*e.Stages || !r.pass(e, stages) {
		for q := range e.number {
			r.byRoot[q] = nil
		}
		return nil
	}
	for w := range stages {
		r.byWorker[w] = e
	}
	return e
}

// stagesOf returns the places of workers in the order in which the first request comes to them.
func (r *finder) stagesOf(e *Engine) map[worker]int {
	stages := make(map[worker]int)
	first := r.Forest.Executions.List[e.Steps[0].Execution].Requests
	for i := range e.Steps {
		s := &e.Steps[i]
		w := worker{r.Process[s.Row], r.Workers[s.Execution]}
		_, known := stages[w]
		switch isOf := len(first) > 0 && slices.Contains(r.Forest.Executions.List[s.Execution].Requests, first[0]); {
		case isOf && known:
			return stages
		case isOf:
			stages[w] = len(stages)
		}
	}
	return stages
}

// pass finds the groups of requests and their ways through the stages. It reports false if they are no such ways.
func (r *finder) pass(e *Engine, stages map[worker]int) bool {
	list := r.Forest.Executions.List
	left := make(map[int32]int) // executions of each request
	for i := range e.Steps {
		for _, q := range list[e.Steps[i].Execution].Requests {
			left[q]++
		}
	}
	const few = 20
	overlaps := 0
	read := make(map[int32]float64)
	byRequest := make(map[int32]*group)
	var groups []*group
	firsts := make([]int32, len(e.Steps)) // the step at the first stage, by step
	freed := slices.Repeat([]int64{-1 << 62}, e.Stages)
	for i := range e.Steps {
		s := &e.Steps[i]
		requests := list[s.Execution].Requests
		stage := stages[worker{r.Process[s.Row], r.Workers[s.Execution]}]
		s.Worker, s.Ready = int32(stage), freed[stage]
		if s.Start < freed[stage]-microsecond {
			overlaps++
		}
		freed[stage] = s.End
		var g *group
		for _, q := range requests {
			of, known := byRequest[q]
			if !known && (stage > 0 || !r.enter(e, int32(i), q)) || known && g != nil && of != g {
				return false
			}
			if known {
				g = of
			}
			left[q]--
		}
		switch {
		case stage > 0:
			if g == nil || g.stage != stage-1 || !slices.Equal(g.requests, requests) {
				return false
			}
		case g != nil && g.stage < e.Stages-1:
			return false
		case g == nil:
			g = idle(groups, left, e, s.Start)
			if g == nil {
				g = &group{step: int32(i)}
				groups = append(groups, g)
			}
		}
		if g.step < int32(i) {
			s.Ready = max(s.Ready, e.Steps[g.step].End)
		}
		if stage == 0 {
			g.first = int32(i)
			r.addLoads(e, int32(i), read)
		}
		g.stage, g.step, g.requests = stage, int32(i), requests
		firsts[i] = g.first
		for _, q := range requests {
			byRequest[q] = g
			e.Served[e.number[q]].Last = int32(i)
		}
	}
	if few*overlaps > len(e.Steps) || len(e.Served) == 0 {
		return false
	}
	e.Groups = len(groups)
	r.findPrompts(e)
	for i, first := range firsts {
		e.Steps[i].Load, e.Steps[i].Prompts, e.Steps[i].Links = e.Steps[first].Load, e.Steps[first].Prompts, e.Steps[first].Links
	}
	return true
}

// idle returns the last group to end of those whose requests are done before a time, or nil.
func idle(groups []*group, left map[int32]int, e *Engine, before int64) (last *group) {
	for _, g := range groups {
		isOver := g.stage == e.Stages-1 && e.Steps[g.step].End <= before
		for _, q := range g.requests {
			isOver = isOver && left[q] == 0
		}
		if isOver && (last == nil || e.Steps[g.step].End > e.Steps[last.step].End) {
			last = g
		}
	}
	return last
}
