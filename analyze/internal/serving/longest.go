package serving

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
)

// steps are the steps of executions, by execution.
type steps struct {
	*Rows
	first, last map[int32]int64
	count       map[int32]float64
}

// stepsOf counts the steps of executions with operations of several.
func (rows *Rows) stepsOf() *steps {
	s := &steps{rows, make(map[int32]int64), make(map[int32]int64), make(map[int32]float64)}
	for _, r := range rows.Forest.Devices.ByStart {
		x := rows.ExecutionOf(r)
		if x == trace.NoExecution || !rows.Forest.Has(r, trace.FlagStep) {
			continue
		}
		step := rows.Forest.Step(r)
		before, known := s.last[x]
		if !known {
			s.first[x] = step
		}
		if !known || step > before {
			s.last[x] = step
			s.count[x]++
		}
	}
	return s
}

// IsLater reports whether a row belongs to a later step of its execution.
func (e *Engine) IsLater(r int32) bool {
	if !e.ToLongest || !e.steps.Forest.Has(r, trace.FlagStep) {
		return false
	}
	first, known := e.steps.first[e.steps.ExecutionOf(r)]
	return known && e.steps.Forest.Step(r) > first
}

// findToLongest finds the engines of whole batches: each request is in one execution, which has several steps. The steps
// are those of the longest answer. A request needs as many as the tokens that it writes, where these explain the steps of
// its execution, otherwise all of them. If no tokens are recorded, the answers of a batch have even lengths up to the
// longest. Prompts are padded to the largest.
func (r *finder) findToLongest(all []*Engine) {
	if len(r.Forest.Executions.List) == 0 {
		return
	}
	s := r.stepsOf()
	var in, out map[int32]float64 // tokens, by request
	for _, e := range all {
		hasSeveral := slices.ContainsFunc(e.Steps, func(x batching.Step) bool { return s.count[x.Execution] > 1 })
		if !hasSeveral || e.Stages > 0 || slices.ContainsFunc(e.Served, func(q batching.Request) bool { return q.First < q.Last }) {
			continue
		}
		if out == nil {
			in, out = make(map[int32]float64), make(map[int32]float64)
			for q := range engines.Find(r.Forest, nil, key.Filter{}).All {
				in[r.Owner[q.Node.Row]] = float64(q.TokensIn.V)
				out[r.Owner[q.Node.Row]] = float64(q.TokensOut.V)
			}
		}
		e.ToLongest, e.steps = true, s
		for i := range e.Steps {
			step := &e.Steps[i]
			roots := r.Forest.Executions.List[step.Execution].Requests
			n := s.count[step.Execution] - 1
			longest, isIn := 0.0, true
			for _, root := range roots {
				longest = max(longest, out[root])
				isIn = isIn && in[root] > 0
			}
			var loads []batching.Load
			for k, root := range roots {
				l := &e.Served[e.number[root]].Loads[0]
				*l = batching.Load{Weight: l.Weight, Steps: n}
				if longest == 0 { // not known: even, in any order
					l.Steps *= float64((k+i)%len(roots)+1) / float64(len(roots))
				}
				if isIn {
					l.Weight = in[root]
				}
				if math.Abs(longest-n-1) <= 1 { // the first token comes with the prompt, or a step after it
					l.Steps = max(0, n-longest+out[root])
				}
				loads = append(loads, *l)
			}
			step.Load = e.Together(loads)
			step.Load.Steps, step.Load.Context = n, n*float64(len(loads))
		}
	}
}
