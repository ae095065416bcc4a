package replay

import (
	"math"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/internal/serving"
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

// engine is an engine with its batches formed again without a change.
type engine struct {
	*serving.Engine
	formed batching.Formed
}

// enginesOf returns the engines with the laws of their operations.
func (g *Graph) enginesOf() (all []*engine) {
	g.build()
	recorded := g.g.Recorded()
	rec := serving.Recording{
		Rows: g.rows, At: g.g.At, Begin: g.begin, End: g.end, Roots: g.roots, Process: g.process, Loops: g.loops,
		Kinds: g.kinds(),
	}
	for _, found := range rec.Find() {
		e := &engine{Engine: found}
		for i := range e.Steps {
			if e.Single { // without laws
				break
			}
			s := &e.Steps[i]
			host := int64(0)
			g.partsOf(s, recorded, func(_ edge, ns int64, isOp bool) {
				if !isOp {
					host += ns
				}
			})
			e.Laws.Add(batching.Host, s, host, false)
		}
		names := g.forest.Names.Operations.Values
		e.Laws.Fit(&e.Engine.Engine, func(kind int32) bool { return flops.IsAttention(names[g.kinds().Name(kind)]) })
		if e.formed = e.Form(g.plan(found, recorded, recorded, false), nil); e.formed.Sum > 0 {
			all = append(all, e)
		}
	}
	return all
}

// plan returns the costs in a changed run. The path to the end of an execution tells the parts of its operations. Where
// requests are early, the turn of one begins with its first operation.
func (g *Graph) plan(e *serving.Engine, recorded, v *variant, early bool) batching.Plan {
	n := len(e.Served)
	p := batching.Plan{Costs: make([]batching.Cost, len(e.Steps)), Tails: make([]float64, n), Own: make([]float64, n)}
	number := make(map[int32]int, n)
	for i, q := range e.Served {
		number[q.Root] = i
		p.Tails[i] = float64(max(0, v.Time(q.End)-v.Time(e.Steps[q.Last].To)))
	}
	for i := range e.Steps {
		s := &e.Steps[i]
		c := &p.Costs[i]
		lead := 0.0
		g.partsOf(s, v, func(edge edge, ns int64, isOp bool) {
			if lead += float64(ns); isOp {
				lead = 0
			}
			if q, known := number[g.rows.OwnerWithin(edge.owner)]; known && s == &e.Steps[e.Served[q].First] {
				p.Own[q] += float64(ns)
				return
			}
			l := e.Laws.Of(batching.Host, s)
			switch {
			case isOp && e.IsLater(edge.owner):
				l = e.Laws.OfLater(g.kinds().Of(edge.owner))
			case isOp:
				l = e.Laws.Of(g.kinds().Of(edge.owner), s)
			}
			if l.At(s.Load) < 1 {
				l = batching.Law{Fixed: 1}
			}
			c.Add(l, float64(ns)/l.At(s.Load))
		})
		if e.Single && early {
			c.Fixed -= lead
		}
		if e.Single { // whose load is its time
			c.Law = batching.Law{Per: batching.Load{Weight: c.Fixed / max(1, s.Load.Weight)}}
		}
		gap, changed := 0.0, 0.0
		g.g.back(recorded, s.From, s.Ready, func(edge edge, lag, ns int64, _ bool) {
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

// partsOf calls part with the time of each operation of an execution on the path to its end, and of everything between
// them. A turn of a request that waits for the operations of another one has its own time before that operation, too.
func (g *Graph) partsOf(s *batching.Step, v *variant, part func(of edge, ns int64, isOp bool)) {
	isOver := false
	last := none // the operation of the request before which the path leaves it
	g.g.back(v, s.To, v.Time(s.From), func(of edge, _, ns int64, ok bool) {
		isOp := ok && g.isTimeOf(of) && g.forest.Has(of.owner, trace.FlagOp) && g.rows.ExecutionOf(of.owner) == s.Execution
		if s.Execution == trace.NoExecution && isOp && g.rows.Owner[of.owner] != s.Row {
			isOver = true
		}
		if isOver {
			return
		}
		part(of, ns, isOp)
		if isOp {
			last = of.from
		}
	})
	if !isOver || last == none {
		return
	}
	ready := v.Time(s.From)
	g.g.edges(last>>1, func(of edge) bool {
		if of.to == last && of.kind != onStream && of.kind != afterStream {
			ready = max(ready, v.Time(of.from)+v.Lag(of.index))
		}
		return true
	})
	part(edge{owner: noOwner}, ready-v.Time(s.From), false)
}

// Windows are the times in which engines waited for others to join a batch: their number, their sum, and the longest window.
type Windows struct {
	Count, NS, LongestNS int64
}

// Windows returns the windows of batches.
func (g *Graph) Windows() (w Windows) {
	for _, e := range g.engines() {
		for i := range e.Steps {
			if ns := e.Steps[i].Window; ns > 0 {
				w.Count++
				w.NS += ns
			}
		}
		w.LongestNS = max(w.LongestNS, e.Window)
	}
	return w
}

// Stages returns the number of stages that batches pass one after the other, 0 without a pipeline of engines.
func (g *Graph) Stages() (n int) {
	for _, e := range g.engines() {
		n = max(n, e.Stages)
	}
	return n
}

// again is the prediction for all engines.
type again struct {
	*Batches
	ns   map[int32]int64 // durations of requests, -1 for excluded ones
	sum  int64           // of the durations
	ends int64           // the recorded last end of engines
	end  int64           // that of the run, 0 if engines do not end last
}

// forming says how engines form their batches: with at most chunk tokens of a prompt in an execution, and replicas of each.
// Engines wait at most window ns for a batch. If even is set, replicas get their requests in turn; if early is set, requests
// come to their engine as they begin.
type forming struct {
	chunk       float64
	replicas    int
	window      int64
	even, early bool
}

// formAgain predicts the requests of engines in a changed run.
func (g *Graph) formAgain(recorded, v *variant, without map[int32]bool, of forming) again {
	out := again{ns: make(map[int32]int64)}
	if len(g.engines()) == 0 {
		return out
	}
	out.Batches = &Batches{}
	var evenly map[int32]float64
	evenEnd := 0.0
	if of.even {
		evenly, evenEnd = g.evenly(recorded, v, without)
	}
	late := make(map[int32]float64) // delays of requests at their engines
	for _, e := range g.engines() {
		served := &e.Engine.Engine
		if !math.IsInf(of.chunk, 1) && e.Divides() {
			served = e.Chunked(of.chunk)
		}
		served = served.Within(of.window)
		plan := g.plan(e.Engine, recorded, v, of.early)
		for _, q := range e.Served {
			if _, known := late[q.Root]; !known {
				before := v.Time(q.From) - v.Time(g.begin[q.Root])
				if of.early {
					before = 0
				}
				late[q.Root] = float64(before - g.g.slack(g.begin[q.Root], q.From))
				if !without[q.Root] {
					out.ns[q.Root] = before
					out.sum += before
				}
			}
			plan.Late = append(plan.Late, late[q.Root])
		}
		r := served.FormOn(of.replicas, plan, without)
		scale := float64(e.Sum) / e.formed.Sum
		for i, q := range e.Served {
			if ns, known := evenly[q.Root]; known {
				r.Sum += ns - r.Durations[i]
				r.Durations[i], r.End = ns, evenEnd
			}
			if r.Durations[i] < 0 {
				out.ns[q.Root] = -1
				continue
			}
			more := (r.Durations[i] - e.formed.Durations[i]) * scale
			late[q.Root] += more
			out.ns[q.Root] += max(0, q.Duration+int64(math.Round(more)))
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
		request := g.rows.Owner[r]
		if x := g.rows.ExecutionOf(r); x != trace.NoExecution && len(g.forest.Executions.List[x].Requests) > 0 {
			request = g.forest.Executions.List[x].Requests[0]
		}
		if _, isServed := out.ns[request]; g.begin[r] != none && !isServed {
			out.end = max(out.end, v.Time(g.end[r]))
		}
	}
	return out
}

// warmEngines shortens the first execution of each engine to the time of the others of its class at its load. The load of
// a single-request engine is its number of operations.
func (g *Graph) warmEngines(v *variant) (n int64) {
	operations := make(map[int32]float64) // of requests beside executions
	for r := range g.forest.Rows() {
		if g.forest.CountsInSums(r) && g.rows.ExecutionOf(r) == trace.NoExecution {
			operations[g.rows.Owner[r]]++
		}
	}
	for _, e := range g.engines() {
		if e.Turns {
			continue
		}
		load := func(s *batching.Step) batching.Load {
			if e.Single {
				return batching.Load{Weight: operations[s.Row]}
			}
			return s.Load
		}
		for i, factor := range e.FirstTimes(load) {
			first := &e.Steps[i]
			isFirst := func(owner int32) bool {
				return isRow(owner) && g.rows.ExecutionOf(owner) == first.Execution &&
					(!e.Single || g.rows.Owner[owner] == first.Row)
			}
			for e := range g.g.owned(isFirst) {
				if lag := v.Lag(e.index); factor < 1 && lag != dropped {
					v.Set(e.index, int64(factor*float64(lag)))
				}
			}
			n++
		}
	}
	return n
}

// Replica is one of several engines with the same operations and requests of their own, or a worker of a queue.
type Replica = serving.Replica

// Replicas returns the largest group of replicas, or else the workers of a queue, whose numbers of requests say nothing. It
// returns nil without any.
func (g *Graph) Replicas() []Replica {
	isWork := func(r int32) bool { return g.forest.Has(r, trace.FlagOp) && g.begin[r] != none && g.isOnDevice(r) }
	return serving.Comparison{Rows: &g.rows, Kinds: g.kinds(), IsWork: isWork}.Replicas(g.found())
}

// found returns the engines without their formed batches.
func (g *Graph) found() (all []*serving.Engine) {
	for _, e := range g.engines() {
		all = append(all, e.Engine)
	}
	return all
}

// evenly returns the durations of requests by root, if replicas get them in turn, and the last end.
func (g *Graph) evenly(recorded, v *variant, without map[int32]bool) (ns map[int32]float64, end float64) {
	ns = make(map[int32]float64)
	for _, group := range serving.Groups(g.found()) {
		var engines []*batching.Engine
		var plans []batching.Plan
		for _, e := range group {
			engines = append(engines, &e.Engine)
			plans = append(plans, g.plan(e, recorded, v, false))
		}
		end = max(end, batching.FormEvenly(engines, plans, without, ns))
	}
	return ns, end
}

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

// inStep returns the step of row r if its engine has laws and loads, and the time of the operation by the law, as usual
// in its layer. It returns nil for other rows, and for the first step of an engine.
func (g *Graph) inStep(r int32) (s *batching.Step, law float64) { return g.lawful().In(r) }
