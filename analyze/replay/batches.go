package replay

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/requests"
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
	laws    batching.Laws
	formed  batching.Formed
	number  map[int32]int // of each request until requests are sorted
	from    []handOver    // requests from other engines
	single  bool          // serves one request after the other, without shared executions
	passes  bool          // requests come from another engine, or go to one
	refused bool          // does not explain its requests
}

// handOver is a request passed on by another engine, such as one for prompts.
type handOver struct {
	*engine
	number int
	at     int32 // point
}

// worker runs one shared execution after another: replicas of a process work on devices of their own.
type worker struct{ process, device int32 }

// findWorkers finds the first device of each shared execution, of the outermost for nested ones.
func (g *Graph) findWorkers() {
	g.workers = repeat(len(g.forest.Executions.List))
	for r := range g.forest.Rows() {
		x := g.executionOf(r)
		if x == trace.NoExecution || !g.forest.CountsInSums(r) {
			continue
		}
		if of := g.forest.Device(r); g.workers[x] == none || of < g.workers[x] {
			g.workers[x] = of
		}
	}
}

// enginesOf returns the engines consistent with their requests.
func (g *Graph) enginesOf() (all []*engine) {
	g.build()
	f := g.forest
	list := f.Executions.List
	if len(g.roots) == 0 {
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
	byWorker := make(map[worker]*engine)
	steps := make(map[int32]*batching.Step) // by execution
	for _, i := range byStart {
		row := list[i].Row
		w := worker{g.process[row], g.workers[i]}
		e := byWorker[w]
		if e == nil {
			e = new(engine)
			byWorker[w] = e
			all = append(all, e)
		}
		e.Steps = append(e.Steps, batching.Step{
			Row: row, Execution: i, From: g.begin[row], To: g.end[row], Start: g.g.At(g.begin[row]), End: g.g.At(g.end[row]),
		})
	}
	byRoot := make(map[int32]*engine)
	for _, r := range g.roots {
		byRoot[r] = nil
	}
	first := make(map[int32]int64)
	for _, i := range byStart {
		for _, r := range list[i].Requests {
			if _, known := first[r]; !known {
				first[r] = f.Start(list[i].Row)
			}
		}
	}
	came := requests.Came(f, g.owner, first)
	ends := g.endsOfOwn()
	for _, e := range all {
		if !g.serve(e, byRoot, came, ends, tokens) {
			e.refuse()
		}
	}
	all = append(all, g.turns(byRoot)...)
	all = slices.DeleteFunc(all, func(e *engine) bool { return e.refused })
	for _, e := range all {
		e.Count()
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
			e = byWorker[worker{g.process[list[x].Row], g.workers[x]}]
		}
		if e != nil {
			e.End = max(e.End, g.g.At(g.end[r]))
		}
		switch {
		case !f.Has(r, trace.FlagOp):
		case e == nil || e.single:
		case x == trace.NoExecution && f.IsDeviceSide(r):
			if !e.passes {
				own[e] += f.Duration(r)
			}
		case steps[x] != nil:
			e.laws.Add(f.Name(r), steps[x], f.Duration(r))
		}
	}
	const little = 10
	all = slices.DeleteFunc(all, func(e *engine) bool { return own[e] > e.Sum/little || e.Sum == 0 })
	recorded := g.g.Recorded()
	for _, e := range all {
		for i := range e.Steps {
			if e.single { // without laws
				break
			}
			s := &e.Steps[i]
			host := int64(0)
			g.partsOf(s, recorded, func(_ edge, ns int64, isOp bool) {
				if !isOp {
					host += ns
				}
			})
			e.laws.Add(noName, s, host)
		}
		e.laws.Fit(e.HasAttention, func(name int32) bool { return name != noName && flops.IsAttention(f.Names.Operations.Values[name]) })
		e.Learn()
		e.formed = e.Form(g.plan(e, recorded, recorded), nil)
	}
	return slices.DeleteFunc(all, func(e *engine) bool { return e.formed.Sum <= 0 })
}

// refuse leaves out an engine and the ones before it.
func (e *engine) refuse() {
	if e.refused {
		return
	}
	e.refused = true
	for _, h := range e.from {
		h.refuse()
	}
}

// endsOfOwn returns the ends of the operations of each request beside executions.
func (g *Graph) endsOfOwn() map[int32][]int32 {
	ends := make(map[int32][]int32)
	for r := range g.forest.Rows() {
		if g.begin[r] != none && g.forest.CountsInSums(r) && g.executionOf(r) == trace.NoExecution {
			ends[g.owner[r]] = append(ends[g.owner[r]], g.end[r])
		}
	}
	return ends
}

// turn is the time of a request on its first device.
type turn struct {
	batching.Step
	device int32
}

// turns returns the single-request engines: an execution is the time from a request's first
// operation, or the end of its recorded queue, to its last one, and its load. Requests wait for the one before. Those of
// loops do not. The devices of a process are workers of one engine if a request waits for the first free one.
func (g *Graph) turns(byRoot map[int32]*engine) (all []*engine) {
	f := g.forest
	byRequest := make(map[int32]*turn)
	for r := range f.Rows() {
		root := g.owner[r]
		e, isRoot := byRoot[root]
		if g.begin[r] == none || !f.CountsInSums(r) || !isRoot || e != nil || g.loops[g.process[root]] ||
			g.executionOf(r) != trace.NoExecution {
			continue
		}
		s := byRequest[root]
		if s == nil {
			step := batching.Step{Row: root, From: g.begin[r], To: g.end[r], Execution: r, New: 1, Links: 1, Prompts: 1}
			s = &turn{step, f.Device(r)}
			byRequest[root] = s
		}
		if g.g.slack(g.begin[r], s.From) > 0 {
			s.From, s.Execution, s.device = g.begin[r], r, f.Device(r)
		}
		if g.g.slack(s.To, g.end[r]) > 0 {
			s.To = g.end[r]
		}
	}
	queued := make(map[int32]int32) // the ends of recorded queues
	for r := range f.Rows() {
		s := byRequest[g.owner[r]]
		if s == nil || f.Has(r, trace.FlagOp) || g.end[r] == none || !requests.IsWait(f.RowName(r)) {
			continue
		}
		last, known := queued[g.owner[r]]
		if g.g.slack(g.end[r], s.From) >= 0 && (!known || g.g.slack(last, g.end[r]) > 0) {
			queued[g.owner[r]] = g.end[r]
		}
	}
	byProcess, byWorker := make(map[int32][]turn), make(map[worker][]turn)
	var workers []worker
	for _, root := range g.roots {
		s := byRequest[root]
		if s == nil {
			continue
		}
		if end, known := queued[root]; known {
			s.From, s.Execution = end, trace.NoExecution
		}
		s.Start, s.End = g.g.At(s.From), g.g.At(s.To)
		w := worker{g.process[root], s.device}
		if byWorker[w] == nil {
			workers = append(workers, w)
		}
		byWorker[w] = append(byWorker[w], *s)
		byProcess[w.process] = append(byProcess[w.process], *s)
	}
	const most = 64 // workers of a queue, as each turn looks at all of them
	devices := make(map[int32]int)
	for _, w := range workers {
		devices[w.process]++
	}
	for _, w := range workers {
		var e *engine
		if devices[w.process] <= most {
			e = g.takesTurns(byProcess[w.process], byRoot)
		}
		if byProcess[w.process] = nil; e == nil && byRoot[byWorker[w][0].Row] == nil {
			e = g.takesTurns(byWorker[w], byRoot)
		}
		if e != nil {
			all = append(all, e)
		}
	}
	return all
}

// takesTurns returns the engine of requests served one after the other on each device. It returns nil if they are few,
// overlap, rarely begin right behind the one in front of them, wait beside a free device, or run one at a time.
func (g *Graph) takesTurns(turns []turn, byRoot map[int32]*engine) *engine {
	const few, right = 20, 10
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.Start, b.Start) })
	overlaps, behind, late, skipped, beside := 0, 0, 0, 0, 0
	e := &engine{single: true}
	ends := make(map[int32]int64) // of the turn before on each device
	for i := range turns {
		s := &turns[i]
		arrival := g.g.At(g.begin[s.Row])
		end, known := ends[s.device]
		if s.Execution != trace.NoExecution {
			if p := g.forest.Tree.Parent[s.Execution]; p != trace.NoRow && p != s.Row && g.begin[p] != none && // of its own turn
				g.g.At(g.begin[p]) >= arrival && (!known || g.g.At(g.begin[p]) >= end) {
				s.From, s.Start = g.begin[p], g.g.At(g.begin[p])
			}
		}
		switch {
		case !known || arrival >= end:
		case s.Start < end:
			overlaps++
		case right*(s.Start-end) <= s.Start-arrival:
			behind++
		default:
			late++
		}
		for device, other := range ends {
			if known && arrival < end && other < arrival-(s.Start-end) { // free for longer than one takes to its next turn
				skipped++
			}
			if device != s.device && other > s.Start {
				beside++
			}
		}
		ends[s.device] = s.End
		step := s.Step
		step.Execution, step.Load.Weight = trace.NoExecution, float64(s.End-s.Start)
		e.Steps = append(e.Steps, step)
		e.Served = append(e.Served, batching.Request{
			Root: s.Row, From: g.begin[s.Row], End: g.end[s.Row], Arrival: arrival,
			Duration: g.g.slack(g.begin[s.Row], g.end[s.Row]), First: int32(i), Last: int32(i),
			Loads: []batching.Load{step.Load}, Prompt: 1,
		})
	}
	e.Places = len(ends)
	if len(turns) < enough || few*overlaps > len(turns) || behind == 0 || late > behind || few*skipped > behind ||
		e.Places > 1 && beside == 0 {
		return nil
	}
	for i := range e.Served {
		byRoot[e.Served[i].Root] = e
	}
	return e
}

// enough is the least number of executions of an engine.
const enough = 10

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
// without a span or to requests that another engine works for, too. came has the rows at whose ends requests come to their
// first engine. A request that another engine is done with comes from there, at the end of its last operation in between,
// such as a transfer.
func (g *Graph) serve(
	e *engine, byRoot map[int32]*engine, came map[int32]int32, ends map[int32][]int32, tokens [][]int64,
) bool {
	e.number = make(map[int32]int)
	number := e.number
	read := make(map[int32]float64) // tokens of each request before
	overlaps := 0
	for i := range e.Steps {
		s := &e.Steps[i]
		x := &g.forest.Executions.List[s.Execution]
		for k, r := range x.Requests {
			by, isRoot := byRoot[r]
			switch {
			case !isRoot:
				return false
			case by != e:
				arrived := g.begin[r]
				if at := came[r]; by == nil && at != r && g.end[at] != none {
					arrived = g.end[at]
				}
				if by != nil {
					h := handOver{by, by.number[r], g.end[by.Steps[by.Served[by.number[r]].Last].Row]}
					e.from = append(e.from, h)
					if _, again := number[r]; again || g.g.At(h.at) > s.Start {
						return false
					}
					for _, p := range ends[r] {
						if g.g.At(p) > g.g.At(h.at) && g.g.At(p) <= s.Start {
							h.at = p
						}
					}
					e.from[len(e.from)-1] = h
					arrived = h.at
				}
				byRoot[r] = e
				number[r] = len(e.Served)
				e.Served = append(e.Served, batching.Request{
					Root: r, From: arrived, End: g.end[r], Arrival: min(s.Start, g.g.At(arrived)),
					Duration: g.g.slack(arrived, g.end[r]), First: int32(i),
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
			q := &e.Served[number[r]]
			if e.HasAttention = x.Attention != nil && (e.HasAttention || i == 0); x.Attention != nil {
				part.Attention = float64(x.Attention[k])
			} else {
				part.Attention = part.Weight * (read[r] + (part.Weight+1)/2)
			}
			read[r] += part.Weight
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
	const few = 20
	if overlaps > len(e.Steps)/few || len(e.Steps) < enough || len(e.Served) == 0 {
		return false
	}
	for _, h := range e.from {
		e.passes, h.passes = true, true
		q := &h.Served[h.number]
		q.End, q.Duration = h.at, g.g.At(h.at)-q.Arrival
	}
	return true
}

// plan returns the costs in a changed run. The path to the end of an execution
// tells the parts of its operations.
func (g *Graph) plan(e *engine, recorded, v *variant) batching.Plan {
	p := batching.Plan{Costs: make([]batching.Cost, len(e.Steps)), Tails: make([]float64, len(e.Served))}
	for i, q := range e.Served {
		p.Tails[i] = float64(max(0, v.Time(q.End)-v.Time(e.Steps[q.Last].To)))
	}
	for i := range e.Steps {
		s := &e.Steps[i]
		c := &p.Costs[i]
		g.partsOf(s, v, func(edge edge, ns int64, isOp bool) {
			name := int32(noName)
			if isOp {
				name = g.forest.Name(edge.owner)
			}
			l := e.laws.Of(name, s)
			if l.At(s.Load) < 1 {
				l = batching.Law{Fixed: 1}
			}
			c.Add(l, float64(ns)/l.At(s.Load))
		})
		if e.single { // whose load is its time
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

// noName is the law of the host's time in executions.
const noName = -1

// partsOf calls part with the time of each operation of an execution on the path to its end, and of everything between them.
func (g *Graph) partsOf(s *batching.Step, v *variant, part func(of edge, ns int64, isOp bool)) {
	g.g.back(v, s.To, v.Time(s.From), func(of edge, _, ns int64, ok bool) {
		part(of, ns, ok && g.isTimeOf(of) && g.executionOf(of.owner) == s.Execution)
	})
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
// If even is set, replicas get their requests in turn; if early is set, requests come to their engine as they begin.
type forming struct {
	chunk       float64
	replicas    int
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
		served := &e.Engine
		if !math.IsInf(of.chunk, 1) && !e.single {
			served = e.Chunked(of.chunk)
		}
		plan := g.plan(e, recorded, v)
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

// warmEngines shortens the first execution of each engine to the time of the others of its class at its load. The load of
// a single-request engine is its number of operations.
func (g *Graph) warmEngines(v *variant) (n int64) {
	operations := make(map[int32]float64) // of requests beside executions
	for r := range g.forest.Rows() {
		if g.forest.CountsInSums(r) && g.executionOf(r) == trace.NoExecution {
			operations[g.owner[r]]++
		}
	}
	for _, e := range g.engines() {
		load := func(s *batching.Step) batching.Load {
			if e.single {
				return batching.Load{Weight: operations[s.Row]}
			}
			return s.Load
		}
		firsts := max(1, e.Places)
		var others []batching.Sample
		for i := range e.Steps[firsts:] {
			if s := &e.Steps[firsts+i]; s.Class() == e.Steps[0].Class() {
				others = append(others, batching.Sample{Load: load(s), NS: float64(s.End - s.Start)})
			}
		}
		if len(others) == 0 {
			continue
		}
		law := batching.Fit(others, batching.Law{}, batching.Load{Weight: 1})
		for i := range firsts {
			first := &e.Steps[i]
			factor := law.At(load(first)) / float64(max(1, first.End-first.Start))
			isFirst := func(owner int32) bool {
				return isRow(owner) && g.executionOf(owner) == first.Execution && (!e.single || g.owner[owner] == first.Row)
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

// replicas returns the groups of engines with the same operations and requests of their own.
func (g *Graph) replicas() [][]*engine {
	number := make(map[string]int) // of groups, by the names of operations
	var all [][]*engine
	for _, e := range g.engines() {
		if e.passes || e.single {
			continue
		}
		key := fmt.Sprint(e.laws.Names())
		if _, known := number[key]; !known {
			number[key] = len(all)
			all = append(all, nil)
		}
		all[number[key]] = append(all[number[key]], e)
	}
	const most = 64 // as for the change
	return slices.DeleteFunc(all, func(group []*engine) bool { return len(group) < 2 || len(group) > most })
}

// evenly returns the durations of requests by root, if replicas get them in turn, and the last end.
func (g *Graph) evenly(recorded, v *variant, without map[int32]bool) (ns map[int32]float64, end float64) {
	ns = make(map[int32]float64)
	for _, group := range g.replicas() {
		var engines []*batching.Engine
		var plans []batching.Plan
		for _, e := range group {
			engines = append(engines, &e.Engine)
			plans = append(plans, g.plan(e, recorded, v))
		}
		end = max(end, batching.FormEvenly(engines, plans, without, ns))
	}
	return ns, end
}
