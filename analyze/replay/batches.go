package replay

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/trace"
)

// Batches describes the shared executions whose batches are formed again for a change. Requests enter in the order of
// arrival, within the recorded limits. The time of an operation is a + b·weight, learned by name; that of
// attention grows with the weights for it, of prompts and of tokens behind them.
type Batches struct {
	Executions int64 `json:"executions"`
	Requests   int64 `json:"requests"`
	// SumNS is the recorded sum of the durations of the requests. FormedSumNS is the sum with all batches formed again
	// without a change. Drift is the difference relative to SumNS. A drift beyond 2 % widens bounds.
	SumNS       int64   `json:"sum_ns"`
	FormedSumNS int64   `json:"formed_sum_ns"`
	Drift       float64 `json:"drift_share"`
}

// engine is an engine with the laws of its operations.
type engine struct {
	batching.Engine
	samples map[lawKey][]batching.Sample
	laws    map[lawKey]batching.Law
	formed  batching.Formed
}

// lawKey names a law: an operation in executions without or with prompts.
type lawKey struct {
	name  int32
	class int
}

// enginesOf returns the engines that explain their requests.
func (g *Graph) enginesOf() (all []*engine) {
	g.build()
	f := g.forest
	list := f.Executions.List
	if len(list) == 0 {
		return nil
	}
	var byStart []int32
	for i := range list {
		if row := list[i].Row; g.begin[row] != none && g.executionOf(row) == int32(i) {
			byStart = append(byStart, int32(i))
		}
	}
	slices.SortFunc(byStart, func(a, b int32) int { return f.CompareStart(list[a].Row, list[b].Row) })
	tokens := engines.Tokens(f)
	byProcess := make(map[int32]*engine)
	steps := make(map[int32]*batching.Step) // by execution
	for _, i := range byStart {
		row := list[i].Row
		e := byProcess[g.process[row]]
		if e == nil {
			e = &engine{laws: make(map[lawKey]batching.Law), samples: make(map[lawKey][]batching.Sample)}
			byProcess[g.process[row]] = e
			all = append(all, e)
		}
		e.Steps = append(e.Steps, batching.Step{Row: row, Execution: i, Start: g.g.At(g.begin[row]), End: g.g.At(g.end[row])})
	}
	byRoot := make(map[int32]*engine)
	for _, r := range g.roots {
		byRoot[r] = nil
	}
	all = slices.DeleteFunc(all, func(e *engine) bool { return !g.serve(e, byRoot, tokens) })
	for _, e := range all {
		for i := range e.Steps {
			steps[e.Steps[i].Execution] = &e.Steps[i]
		}
	}
	own := make(map[*engine]int64)
	for r := range f.Rows() {
		if g.begin[r] == none {
			continue
		}
		e := byRoot[g.owner[r]]
		x := g.executionOf(r)
		if x != trace.NoExecution {
			e = byProcess[g.process[list[x].Row]]
		}
		if e != nil {
			e.End = max(e.End, g.g.At(g.end[r]))
		}
		switch {
		case !f.Has(r, trace.FlagOp):
		case x == trace.NoExecution && f.IsDeviceSide(r):
			own[e] += f.Duration(r)
		case steps[x] != nil:
			k := lawKey{f.Name(r), steps[x].Class()}
			e.samples[k] = append(e.samples[k], batching.Sample{Load: steps[x].Load, NS: float64(f.Duration(r))})
		}
	}
	const little = 10
	all = slices.DeleteFunc(all, func(e *engine) bool { return own[e] > e.Sum/little || e.Sum == 0 })
	recorded := g.g.Recorded()
	for _, e := range all {
		for k, list := range e.samples {
			e.laws[k] = e.fit(k, list, e.HasAttention && flops.IsAttention(f.Names.Operations.Values[k.name]))
		}
		e.samples = nil
		e.Learn()
		e.formed = e.Form(g.plan(e, recorded, recorded), nil)
	}
	return slices.DeleteFunc(all, func(e *engine) bool { return e.formed.Sum <= 0 })
}

// fit returns the law of an operation. Attention grows with the weights for it, everything else with the weights.
func (e *engine) fit(k lawKey, list []batching.Sample, isAttention bool) batching.Law {
	single := e.samples[lawKey{k.name, 0}]
	switch {
	case !isAttention:
		return batching.Fit(list, batching.Load{Weight: 1}, batching.Load{})
	case len(single) == 0:
		return batching.Fit(list, batching.Load{Attention: 1, Context: 1}, batching.Load{})
	}
	law := batching.Fit(single, batching.Load{Context: 1}, batching.Load{})
	if k.class > 0 {
		law = batching.Fit(list, batching.Load{Attention: 1}, law.Per)
	}
	return law
}

// executionOf returns the outermost execution of a row.
func (g *Graph) executionOf(r int32) int32 {
	f := g.forest
	x := f.ExecutionOf(r, g.owner)
	for depth := 0; x != trace.NoExecution && depth < maxDepth; depth++ {
		p := f.Tree.Parent[f.Executions.List[x].Row]
		if p == trace.NoRow || f.Executions.Of[p] == trace.NoExecution {
			break
		}
		x = f.Executions.Of[p]
	}
	return x
}

// serve finds the requests of an engine. It reports false if the executions are few or overlap, or link to requests
// without a span or to requests of another engine.
func (g *Graph) serve(e *engine, byRoot map[int32]*engine, tokens [][]int64) bool {
	number := make(map[int32]int)
	overlaps := 0
	for i := range e.Steps {
		s := &e.Steps[i]
		x := &g.forest.Executions.List[s.Execution]
		for k, r := range x.Requests {
			by, isRoot := byRoot[r]
			switch {
			case !isRoot:
				return false
			case by != nil && by != e:
				by.Sum = 0
				return false
			case by == nil:
				byRoot[r] = e
				number[r] = len(e.Served)
				e.Served = append(e.Served, batching.Request{
					Root: r, Arrival: min(s.Start, g.g.At(g.begin[r])), Duration: g.g.slack(g.begin[r], g.end[r]),
					First: int32(i),
				})
				s.New++
			}
			part := batching.Load{Weight: 1}
			switch {
			case x.Weights != nil:
				part.Weight = float64(x.Weights[k])
			case tokens != nil:
				part.Weight = float64(tokens[s.Execution][k])
			}
			if e.HasAttention = x.Attention != nil && (e.HasAttention || i == 0); x.Attention != nil {
				part.Attention = float64(x.Attention[k])
			}
			q := &e.Served[number[r]]
			q.Loads = append(q.Loads, part)
			q.Last = int32(i)
			s.Load.Add(part, 1)
			s.Links++
		}
		if i > 0 && s.Start < e.Steps[i-1].End {
			overlaps++
		}
	}
	for i := range e.Served {
		_, e.Served[i].Prompt = batching.PromptOf(e.Served[i].Loads)
	}
	done := make([]int, len(e.Served)) // executions
	for i := range e.Steps {
		s := &e.Steps[i]
		for _, r := range g.forest.Executions.List[s.Execution].Requests {
			k := number[r]
			if done[k] < e.Served[k].Prompt {
				s.Prompts++
			} else {
				l := &e.Served[k].Loads[done[k]]
				s.Load.Add(batching.Load{Attention: -l.Attention, Context: l.Attention}, 1)
				l.Context, l.Attention = l.Attention, 0
			}
			done[k]++
		}
	}
	e.Count()
	const few, enough = 20, 10
	return overlaps <= len(e.Steps)/few && len(e.Steps) >= enough && e.Sum > 0
}

// plan returns the costs in a changed run. The path to the end of an execution
// tells the parts of its operations.
func (g *Graph) plan(e *engine, recorded, v *variant) batching.Plan {
	p := batching.Plan{Costs: make([]batching.Cost, len(e.Steps)), Tails: make([]float64, len(e.Served))}
	for i, q := range e.Served {
		p.Tails[i] = float64(max(0, v.Time(g.end[q.Root])-v.Time(g.end[e.Steps[q.Last].Row])))
	}
	for i := range e.Steps {
		s := &e.Steps[i]
		c := &p.Costs[i]
		begin := g.begin[s.Row]
		g.g.back(v, g.end[s.Row], v.Time(begin), func(edge edge, _, ns int64, ok bool) {
			l := batching.Law{}
			if ok && g.isTimeOf(edge) && g.executionOf(edge.owner) == s.Execution {
				l = e.laws[lawKey{g.forest.Name(edge.owner), s.Class()}]
			}
			if l.At(s.Load) < 1 {
				l = batching.Law{Fixed: 1}
			}
			c.Add(l, float64(ns)/l.At(s.Load))
		})
		gap, changed := 0.0, 0.0
		g.g.back(recorded, begin, s.Ready, func(edge edge, lag, ns int64, _ bool) {
			if lag > 0 {
				gap += float64(ns)
				changed += float64(ns) * float64(max(0, v.Lag(edge.index))) / float64(lag)
			}
		})
		c.Gap = float64(s.Start - s.Ready)
		if gap > 0 {
			c.Gap *= changed / gap
		}
	}
	return p
}

// again is the prediction for all engines.
type again struct {
	*Batches
	ns   map[int32]int64 // durations of requests, -1 for those left out
	sum  int64           // of the durations
	ends int64           // the recorded last end of engines
	end  int64           // that of the run, 0 if engines do not end last
}

// formAgain predicts the requests of engines in a changed run, with at most chunk tokens of a prompt in an execution, and
// replicas of each engine.
func (g *Graph) formAgain(recorded, v *variant, without map[int32]bool, chunk float64, replicas int) again {
	out := again{ns: make(map[int32]int64)}
	if len(g.engines()) == 0 {
		return out
	}
	out.Batches = &Batches{}
	for _, e := range g.engines() {
		r := e.Chunked(chunk).FormOn(replicas, g.plan(e, recorded, v), without)
		scale := float64(e.Sum) / e.formed.Sum
		for i, q := range e.Served {
			out.ns[q.Root] = -1
			if r.Durations[i] >= 0 {
				out.ns[q.Root] = max(0, q.Duration+int64(math.Round((r.Durations[i]-e.formed.Durations[i])*scale)))
			}
		}
		out.sum += int64(math.Round(r.Sum * scale))
		out.ends = max(out.ends, e.End)
		out.end = max(out.end, e.End+int64(math.Round(r.End-e.formed.End)))
		out.Executions += int64(len(e.Steps))
		out.Requests += int64(len(e.Served))
		out.SumNS += e.Sum
		out.FormedSumNS += int64(math.Round(e.formed.Sum))
	}
	out.Drift = float64(out.FormedSumNS-out.SumNS) / float64(out.SumNS)
	if out.ends < g.g.At(recorded.Last()) {
		out.end = 0
		return out
	}
	for r := range g.forest.Rows() { // beside engines
		request := g.owner[r]
		if x := g.executionOf(r); x != trace.NoExecution && len(g.forest.Executions.List[x].Requests) > 0 {
			request = g.forest.Executions.List[x].Requests[0]
		}
		if _, isServed := out.ns[request]; g.begin[r] != none && !isServed {
			out.end = max(out.end, v.Time(g.end[r]))
		}
	}
	return out
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
		law := batching.Fit(others, batching.Load{Weight: 1}, batching.Load{})
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
