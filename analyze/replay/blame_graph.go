package replay

import (
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/blame"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/symbols"
)

// alone replays requests beside engines in the graph. The operations of a stream keep their order.
type alone struct {
	blame.Requests
	graph   *Graph
	ops     []int32 // of devices, by start
	longest int64   // ns
	step    []int32 // by row, the name of work without a recorded request, or none
	total   blame.Suspects
}

func newAlone(g *Graph, rows []int32) *alone {
	r := &alone{Requests: blame.NewRequests(rows, maxReplayed), graph: g}
	var names symbols.Names
	for row := range g.forest.Rows() {
		number := none
		if top := g.withoutRequest(row); top != none {
			number = names.ID(g.forest.RowName(top))
		}
		r.step = append(r.step, number)
		if g.begin[row] != none && g.isOnDevice(row) {
			r.ops = append(r.ops, row)
			r.longest = max(r.longest, g.forest.Duration(row))
		}
	}
	r.Names = names.Values
	slices.SortFunc(r.ops, g.forest.CompareStart)
	r.total = make(blame.Suspects)
	for _, o := range r.ops {
		of := r.requestsOf(o)
		for _, q := range of {
			r.total.Add(q, float64(g.forest.Duration(o))/float64(len(of)))
		}
	}
	return r
}

// withoutRequest returns the execution or else the topmost row above a row without a recorded request, or none.
func (g *Graph) withoutRequest(row int32) int32 {
	f := g.forest
	x := g.rows.ExecutionOf(row)
	switch {
	case g.begin[row] == none:
		return none
	case x != trace.NoExecution:
		isRead := func(q int32) bool { return int(q) < f.Len() }
		if slices.ContainsFunc(f.Executions.List[x].Requests, isRead) {
			return none
		}
		return f.Executions.List[x].Row
	case g.rows.Owner[row] != trace.NoRow:
		return none
	}
	for f.Tree.Parent[row] != trace.NoRow {
		row = f.Tree.Parent[row]
	}
	return row
}

// Suspects adds up the operations of others on the devices of a victim, until the start of its last operation there.
func (r *alone) Suspects(victim int32) blame.Suspects {
	f := r.graph.forest
	all := make(blame.Suspects)
	from, to := f.Start(victim), f.End(victim)
	at := func(ns int64) int {
		return sort.Search(len(r.ops), func(i int) bool { return f.Start(r.ops[i]) >= ns })
	}
	ops := r.ops[at(from-r.longest):at(to)]
	last := make(map[int32]int64) // by device
	for _, o := range ops {
		if slices.Contains(r.requestsOf(o), victim) {
			last[f.Device(o)] = f.Start(o)
		}
	}
	for _, o := range ops {
		ns := min(f.End(o), last[f.Device(o)]) - max(f.Start(o), from)
		of := r.requestsOf(o)
		if ns <= 0 || slices.Contains(of, victim) {
			continue
		}
		for _, q := range of {
			all.Add(q, float64(ns)/float64(len(of)))
		}
	}
	return all
}

// requestsOf returns the requests of an operation, or the complement of its step's number. Requests that were not read are
// left out.
func (r *alone) requestsOf(o int32) []int32 {
	if r.step[o] != none {
		return []int32{^r.step[o]}
	}
	of := []int32{r.graph.rows.Owner[o]}
	if x := r.graph.rows.ExecutionOf(o); x != trace.NoExecution {
		of = r.graph.forest.Executions.List[x].Requests
	}
	isUnread := func(q int32) bool { return int(q) >= r.graph.forest.Len() }
	if slices.ContainsFunc(of, isUnread) {
		of = slices.DeleteFunc(slices.Clone(of), isUnread)
	}
	return of
}

// Without bounds each delay by the time of the operations left out: the graph cannot tell other waiting from theirs.
func (r *alone) Without(numbers map[int32]bool) []int64 {
	g := r.graph
	v := g.g.variant()
	g.leaveOut(numbers, v)
	isOfStep := func(row int32) bool { return row >= 0 && r.step[row] != none && numbers[^r.step[row]] }
	for e := range g.g.owned(isOfStep) {
		if lag := v.Lag(e.index); lag != dropped {
			v.Set(e.index, min(lag, 0))
		}
	}
	most := int64(0)
	for q, x := range r.total {
		if numbers[q] {
			most += int64(x.NS)
		}
	}
	v.Run()
	delays := make([]int64, len(r.Rows))
	for i, q := range r.Rows {
		begin, end := g.begin[q], g.end[q]
		delays[i] = min(most, g.g.slack(begin, end)-(v.Time(end)-v.Time(begin)))
	}
	return delays
}

// isWithin reports whether a request is another one, or a part of it, such as a service's request behind a gateway.
func (g *Graph) isWithin(row, request int32) bool {
	for row != request && row >= 0 && int(row) < g.forest.Len() {
		row = g.forest.Tree.Parent[row]
	}
	return row == request
}
