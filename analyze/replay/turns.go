package replay

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
)

// turn is the time of a request on its first device.
type turn struct {
	batching.Step
	device int32
}

// turns returns the engines that serve one request after the other: an execution is the time from a request's first
// operation, or the end of its recorded queue, to its last one, and its load. Requests wait for the one before. Those of
// loops do not. The devices of a process are workers of one engine where a request waits for the first that is free.
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
	for _, w := range workers {
		e := g.takesTurns(byProcess[w.process], byRoot)
		if byProcess[w.process] = nil; e == nil && byRoot[byWorker[w][0].Row] == nil {
			e = g.takesTurns(byWorker[w], byRoot)
		}
		if e != nil {
			all = append(all, e)
		}
	}
	return all
}

// takesTurns returns the engine that serves requests one after the other on each of its devices, or nil if they are few,
// overlap, rarely begin right behind the one that they wait for, or wait while another device is free, or if only one
// works at a time.
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
