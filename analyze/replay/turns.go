package replay

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/trace"
)

// turns returns the engines that serve one request after the other: an execution is the time from a request's first
// operation to its last one, and its load. Requests wait for the one before. Those of loops do not.
func (g *Graph) turns(byRoot map[int32]*engine) (all []*engine) {
	f := g.forest
	byRequest := make(map[int32]*batching.Step)
	devices := make(map[int32]int32)
	for r := range f.Rows() {
		root := g.owner[r]
		e, isRoot := byRoot[root]
		if g.begin[r] == none || !f.CountsInSums(r) || !isRoot || e != nil || g.loops[g.process[root]] ||
			g.executionOf(r) != trace.NoExecution {
			continue
		}
		s := byRequest[root]
		if s == nil {
			s = &batching.Step{Row: root, From: g.begin[r], To: g.end[r], Execution: r, New: 1, Links: 1, Prompts: 1}
			byRequest[root], devices[root] = s, f.Device(r)
		}
		if g.g.slack(g.begin[r], s.From) > 0 {
			s.From, s.Execution, devices[root] = g.begin[r], r, f.Device(r)
		}
		if g.g.slack(s.To, g.end[r]) > 0 {
			s.To = g.end[r]
		}
	}
	byWorker := make(map[worker]*engine)
	for _, root := range g.roots {
		s := byRequest[root]
		if s == nil {
			continue
		}
		s.Start, s.End = g.g.At(s.From), g.g.At(s.To)
		s.Load.Weight = float64(s.End - s.Start)
		w := worker{g.process[root], devices[root]}
		if byWorker[w] == nil {
			byWorker[w] = &engine{single: true}
			all = append(all, byWorker[w])
		}
		byWorker[w].Steps = append(byWorker[w].Steps, *s)
	}
	return slices.DeleteFunc(all, func(e *engine) bool { return !g.takesTurns(e, byRoot) })
}

// takesTurns finds the requests of an engine that serves one after the other. It reports false if they are few, overlap, or
// rarely begin right behind the one that they wait for.
func (g *Graph) takesTurns(e *engine, byRoot map[int32]*engine) bool {
	const few, right = 20, 10
	slices.SortStableFunc(e.Steps, func(a, b batching.Step) int { return cmp.Compare(a.Start, b.Start) })
	overlaps, behind, late := 0, 0, 0
	for i := range e.Steps {
		s := &e.Steps[i]
		arrival := g.g.At(g.begin[s.Row])
		if p := g.forest.Tree.Parent[s.Execution]; p != trace.NoRow && p != s.Row && g.begin[p] != none && // of its own turn
			g.g.At(g.begin[p]) >= arrival && (i == 0 || g.g.At(g.begin[p]) >= e.Steps[i-1].End) {
			s.From, s.Start = g.begin[p], g.g.At(g.begin[p])
			s.Load.Weight = float64(s.End - s.Start)
		}
		s.Execution = trace.NoExecution
		if i > 0 {
			switch end := e.Steps[i-1].End; {
			case s.Start < end:
				overlaps++
			case arrival >= end:
			case right*(s.Start-end) <= s.Start-arrival:
				behind++
			default:
				late++
			}
		}
		e.Served = append(e.Served, batching.Request{
			Root: s.Row, From: g.begin[s.Row], End: g.end[s.Row], Arrival: arrival, Duration: g.g.slack(g.begin[s.Row], g.end[s.Row]),
			First: int32(i), Last: int32(i), Loads: []batching.Load{s.Load}, Prompt: 1,
		})
	}
	if len(e.Steps) < enough || few*overlaps > len(e.Steps) || behind == 0 || late > behind {
		return false
	}
	for i := range e.Served {
		byRoot[e.Served[i].Root] = e
	}
	return true
}

// enough is the least number of executions of an engine.
const enough = 10
