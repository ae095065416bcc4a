package serving

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
)

// turn is the time of a request on its first device.
type turn struct {
	batching.Step
	device int32
	queue  int32 // the row of its recorded queue, or none
}

// turns returns the single-request engines: an execution is the time from a request's first operation, or the end of its
// recorded queue, to its last one, and its load. Requests wait for the one before. Those of loops do not. The devices of a
// process are workers of one engine if a request waits for the first free one. A device that works for other requests, too,
// after another one, is none.
func (r *finder) turns() (all []*Engine) {
	f := r.Forest
	byRequest := make(map[int32]*turn)
	used := make(map[int32][]int32) // devices by request
	for row := range f.Rows() {
		root := r.Owner[row]
		e, isRoot := r.byRoot[root]
		if r.Begin[row] == none || !f.CountsInSums(row) || !isRoot || e != nil || r.Loops[r.Process[root]] ||
			r.ExecutionOf(row) != trace.NoExecution {
			continue
		}
		if d := f.Device(row); !slices.Contains(used[root], d) {
			used[root] = append(used[root], d)
		}
		s := byRequest[root]
		if s == nil {
			s = &turn{device: f.Device(row), queue: none, Step: batching.Step{
				Row: root, From: r.Begin[row], To: r.End[row], Execution: row, New: 1, Links: 1, Prompts: 1,
			}}
			byRequest[root] = s
		}
		if r.slack(r.Begin[row], s.From) > 0 {
			s.From, s.Execution, s.device = r.Begin[row], row, f.Device(row)
		}
		if r.slack(s.To, r.End[row]) > 0 {
			s.To = r.End[row]
		}
	}
	for row := range f.Rows() {
		s := byRequest[r.Owner[row]]
		if s == nil || f.Has(row, trace.FlagOp) || r.End[row] == none || !requests.IsWait(f.RowName(row)) {
			continue
		}
		if r.slack(r.End[row], s.From) >= 0 && (s.queue == none || r.slack(r.End[s.queue], r.End[row]) > 0) {
			s.queue = row
		}
	}
	byProcess, byWorker := make(map[int32][]turn), make(map[worker][]turn)
	var workers []worker
	for _, root := range r.Roots {
		s := byRequest[root]
		if s == nil {
			continue
		}
		if s.queue != none {
			s.From, s.Execution = r.End[s.queue], trace.NoExecution
		}
		s.Start, s.End = r.At(s.From), r.At(s.To)
		w := worker{r.Process[root], s.device}
		if byWorker[w] == nil {
			workers = append(workers, w)
		}
		byWorker[w] = append(byWorker[w], *s)
		byProcess[w.process] = append(byProcess[w.process], *s)
	}
	later := make(map[int32]int) // requests by device, after another one
	for root, all := range used {
		for _, d := range all {
			if d != byRequest[root].device {
				later[d]++
			}
		}
	}
	const few = 20
	const most = 64 // workers of a queue, as each turn looks at all of them
	devices := make(map[int32]int)
	isOwn := func(w worker) bool { return few*later[w.device] <= len(byWorker[w]) }
	for _, w := range workers {
		if devices[w.process]++; !isOwn(w) {
			devices[w.process] = math.MinInt
		}
	}
	for _, w := range workers {
		var e *Engine
		if n := devices[w.process]; n > 0 && n <= most {
			e = r.takesTurns(byProcess[w.process])
		}
		if byProcess[w.process] = nil; e == nil && isOwn(w) && r.byRoot[byWorker[w][0].Row] == nil {
			e = r.takesTurns(byWorker[w])
		}
		if e != nil {
			all = append(all, e)
		}
	}
	if e := r.network(); e != nil {
		all = append(all, e)
	}
	return all
}

// takesTurns returns the engine of turns. A worker may be held until its request ends, or until the last operation only.
func (r *finder) takesTurns(turns []turn) *Engine {
	whole := slices.Clone(turns)
	for i := range whole {
		s := &whole[i]
		s.To = r.End[s.Row]
		s.End = r.At(s.To)
	}
	if e := r.oneByOne(whole); e != nil {
		return e
	}
	return r.oneByOne(turns)
}

// oneByOne returns the engine of requests served one after the other on each device. It returns nil if they are few,
// overlap, rarely begin right behind the one in front of them, wait beside a free device, or run one at a time.
func (r *finder) oneByOne(turns []turn) *Engine {
	const few, right = 20, 10
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.Start, b.Start) })
	overlaps, behind, late, skipped, beside := 0, 0, 0, 0, 0
	e := &Engine{Single: true}
	ends := make(map[int32]int64) // of the turn before on each device
	for i := range turns {
		s := &turns[i]
		arrival := r.At(r.Begin[s.Row])
		end, known := ends[s.device]
		if s.Execution != trace.NoExecution {
			p := r.Forest.Tree.Parent[s.Execution] // of its own turn
			if p != trace.NoRow && p != s.Row && r.Begin[p] != none &&
				r.At(r.Begin[p]) >= arrival && (!known || r.At(r.Begin[p]) >= end) {
				s.From, s.Start = r.Begin[p], r.At(r.Begin[p])
			}
		}
		switch {
		case !known || arrival >= end:
		case s.Start < end-microsecond:
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
		if s.queue != none {
			e.Queues = append(e.Queues, s.queue)
		}
		step := s.Step
		step.Execution, step.Load.Weight = trace.NoExecution, float64(s.End-s.Start)
		e.Steps = append(e.Steps, step)
		e.Served = append(e.Served, batching.Request{
			Root: s.Row, From: r.Begin[s.Row], End: r.End[s.Row], Arrival: arrival,
			Duration: r.slack(r.Begin[s.Row], r.End[s.Row]), First: int32(i), Last: int32(i),
			Loads: []batching.Load{step.Load}, Prompt: 1,
		})
	}
	e.Places = len(ends)
	if len(turns) < enough || few*overlaps > len(turns) || behind == 0 || late > behind || few*skipped > behind ||
		e.Places > 1 && beside == 0 {
		return nil
	}
	for i := range e.Served {
		r.byRoot[e.Served[i].Root] = e
	}
	return e
}
