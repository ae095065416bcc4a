// Package serving finds the engines of a recording: processes that serve requests in shared executions, or one request
// after the other.
package serving

import (
	"slices"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
)

// Engine is an engine with the laws of its operations.
type Engine struct {
	batching.Engine
	Laws      batching.Laws
	Single    bool    // serves one request after the other, without shared executions
	Queues    []int32 // rows of the queue of requests served one after the other
	Passes    bool    // requests come from another engine, or go to one
	steps     *steps
	number    map[int32]int // of each request until requests are sorted
	from      []handOver    // requests from other engines
	handsOver bool          // requests go on to another engine
	refused   bool          // does not explain its requests
}

// handOver is a request passed on by another engine, such as one for prompts.
type handOver struct {
	*Engine
	number int
	at     int32 // point
}

// enough is the least number of executions of an engine.
const enough = 10

// worker runs one shared execution after another: replicas of a process work on devices of their own.
type worker struct{ process, device int32 }

// finder is the state of Find.
type finder struct {
	*Recording
	byRoot   map[int32]*Engine // nil for none so far
	byWorker map[worker]*Engine
	came     map[int32]int32   // the rows at whose ends requests come to their first engine
	ends     map[int32][]int32 // of the operations and calls of requests beside executions
	tokens   [][]int64
}

// Divides reports whether an engine may read prompts in parts.
func (e *Engine) Divides() bool { return !e.Single && !e.ToLongest && e.Stages == 0 }

// Find returns the engines consistent with their requests, with the times of their operations.
func (rec *Recording) Find() []*Engine {
	if len(rec.Roots) == 0 {
		return nil
	}
	r := &finder{Recording: rec, byRoot: make(map[int32]*Engine), byWorker: make(map[worker]*Engine),
		tokens: engines.Tokens(rec.Forest), ends: rec.endsOfOwn()}
	if r.tokens == nil {
		r.tokens = engines.ByTime(rec.Forest)
	}
	for _, root := range rec.Roots {
		r.byRoot[root] = nil
	}
	all := r.executed()
	if e := r.pipeline(all); e != nil {
		all = []*Engine{e}
	} else {
		for _, e := range all {
			if !r.serve(e) {
				e.refuse()
			}
		}
	}
	all = append(all, r.turns()...)
	all = slices.DeleteFunc(all, func(e *Engine) bool { return e.refused })
	r.findToLongest(all)
	for _, e := range all {
		e.Count()
	}
	all = r.measure(all)
	for _, e := range all {
		e.Learn()
	}
	return all
}

// executed returns the engines with their executions.
func (r *finder) executed() (all []*Engine) {
	f := r.Forest
	list := f.Executions.List
	var byStart []int32
	for i := range list {
		if row := list[i].Row; r.Begin[row] != none && r.ExecutionOf(row) == int32(i) {
			byStart = append(byStart, int32(i))
		}
	}
	slices.SortFunc(byStart, func(a, b int32) int { return f.CompareStart(list[a].Row, list[b].Row) })
	first := make(map[int32]int64) // by request
	for _, i := range byStart {
		row := list[i].Row
		w := worker{r.Process[row], r.Workers[i]}
		e := r.byWorker[w]
		if e == nil {
			e = new(Engine)
			r.byWorker[w] = e
			all = append(all, e)
		}
		from, to := r.Begin[row], r.End[row]
		e.Steps = append(e.Steps, batching.Step{
			Row: row, Execution: i, From: from, To: to, Start: r.At(from), End: r.At(to),
		})
		for _, q := range list[i].Requests {
			if _, known := first[q]; !known {
				first[q] = f.Start(row)
			}
		}
	}
	r.came = requests.Came(f, r.Owner, first)
	return all
}

// measure adds the times of operations and the last ends to engines, and leaves out those of requests with much work of
// their own in the process of the engine.
func (r *finder) measure(all []*Engine) []*Engine {
	f := r.Forest
	steps := make(map[int32]*batching.Step) // by execution
	for _, e := range all {
		for i := range e.Steps {
			steps[e.Steps[i].Execution] = &e.Steps[i]
		}
	}
	own := make(map[*Engine]int64)
	for row := range f.Rows() {
		if r.Begin[row] == none {
			continue
		}
		e := r.byRoot[r.Owner[row]]
		x := r.ExecutionOf(row)
		if x != trace.NoExecution {
			e = r.byWorker[worker{r.Process[f.Executions.List[x].Row], r.Workers[x]}]
		}
		if e != nil {
			e.End = max(e.End, r.At(r.End[row]))
		}
		switch {
		case !f.Has(row, trace.FlagOp):
		case e == nil || e.Single:
		case x == trace.NoExecution && f.IsDeviceSide(row):
			if !e.Passes && r.Process[row] == r.Process[e.Steps[0].Row] {
				own[e] += f.Duration(row)
			}
		case steps[x] != nil:
			e.Laws.Add(r.Kinds.Of(row), steps[x], f.Duration(row), e.IsLater(row))
		}
	}
	const little = 10
	return slices.DeleteFunc(all, func(e *Engine) bool { return own[e] > e.Sum/little || e.Sum == 0 })
}

// refuse leaves out an engine and the ones before it.
func (e *Engine) refuse() {
	if e.refused {
		return
	}
	e.refused = true
	for _, h := range e.from {
		h.refuse()
	}
}

// endsOfOwn returns the ends of the operations of each request beside executions, and of the spans with nothing below
// them that are no waits.
func (rec *Recording) endsOfOwn() map[int32][]int32 {
	f := rec.Forest
	ends := make(map[int32][]int32)
	for r := range f.Rows() {
		isSpan := !f.Has(r, trace.FlagOp) && len(f.Tree.Children(r)) == 0 && r != rec.Owner[r] &&
			!requests.IsWait(f.RowName(r))
		if rec.Begin[r] != none && (isSpan || f.CountsInSums(r)) && rec.ExecutionOf(r) == trace.NoExecution {
			ends[rec.Owner[r]] = append(ends[rec.Owner[r]], rec.End[r])
		}
	}
	return ends
}

// serve finds the requests of an engine. It reports false if the executions are few or overlap, or link to requests
// without a span or to requests that another engine works for, too.
func (r *finder) serve(e *Engine) bool {
	e.number = make(map[int32]int)
	read := make(map[int32]float64) // tokens of each request before
	overlaps := 0
	for i := range e.Steps {
		s := &e.Steps[i]
		for _, root := range r.Forest.Executions.List[s.Execution].Requests {
			if r.byRoot[root] != e && !r.enter(e, int32(i), root) {
				return false
			}
			e.Served[e.number[root]].Last = int32(i)
		}
		r.addLoads(e, int32(i), read)
		if i > 0 && s.Start < e.Steps[i-1].End-microsecond {
			overlaps++
		}
	}
	const few = 20
	if overlaps > len(e.Steps)/few || len(e.Steps) < enough || len(e.Served) == 0 {
		return false
	}
	r.findPrompts(e)
	for _, h := range e.from {
		e.Passes, h.Passes, h.handsOver = true, true, true
		q := &h.Served[h.number]
		q.End, q.Duration = h.at, r.At(h.at)-q.Arrival
	}
	return true
}

// addLoads adds the loads of the requests of an execution. read has the tokens of each before.
func (r *finder) addLoads(e *Engine, execution int32, read map[int32]float64) {
	s := &e.Steps[execution]
	x := &r.Forest.Executions.List[s.Execution]
	e.HasAttention = x.Attention != nil && (e.HasAttention || execution == 0)
	for k, root := range x.Requests {
		part := batching.Load{Weight: 1}
		switch {
		case x.Weights != nil:
			part.Weight = float64(x.Weights[k])
		case r.tokens != nil:
			part.Weight = float64(r.tokens[s.Execution][k])
		}
		if x.Attention != nil {
			part.Attention = float64(x.Attention[k])
		} else {
			part.Attention = part.Weight * (read[root] + (part.Weight+1)/2)
		}
		read[root] += part.Weight
		q := &e.Served[e.number[root]]
		q.Loads = append(q.Loads, part)
		s.Load.Add(part, 1)
		s.Links++
	}
}

// enter adds a request at its first execution. It reports false for one that is none, or is in another engine, too. A request
// that another engine is done with comes from there, at the end of its last operation in between, such as a transfer.
func (r *finder) enter(e *Engine, execution, root int32) bool {
	s := &e.Steps[execution]
	by, isRoot := r.byRoot[root]
	if !isRoot {
		return false
	}
	arrived := r.Begin[root]
	if at := r.came[root]; by == nil && at != root && r.End[at] != none {
		if arrived = r.End[at]; r.At(arrived) > s.Start { // by a call that goes on
			arrived = r.Begin[at]
		}
	}
	if by != nil {
		h := handOver{by, by.number[root], r.End[by.Steps[by.Served[by.number[root]].Last].Row]}
		for _, p := range r.ends[root] {
			if r.At(p) > r.At(h.at) && r.At(p) <= s.Start {
				h.at = p
			}
		}
		e.from = append(e.from, h)
		if _, again := e.number[root]; again || r.At(h.at) > s.Start {
			return false
		}
		arrived = h.at
	}
	r.byRoot[root] = e
	e.number[root] = len(e.Served)
	e.Served = append(e.Served, batching.Request{
		Root: root, From: arrived, End: r.End[root], Arrival: min(s.Start, r.At(arrived)),
		Duration: r.slack(arrived, r.End[root]), First: execution,
	})
	s.New++
	return true
}

// findPrompts finds the executions with prompts. Attention behind them is Load.Context.
func (r *finder) findPrompts(e *Engine) {
	for i := range e.Served {
		_, e.Served[i].Prompt = batching.PromptOf(e.Served[i].Loads)
	}
	done := make([]int, len(e.Served)) // executions
	for i := range e.Steps {
		s := &e.Steps[i]
		if s.Worker > 0 { // a later stage of a pipeline
			continue
		}
		for _, root := range r.Forest.Executions.List[s.Execution].Requests {
			k := e.number[root]
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
}
