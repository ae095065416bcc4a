package serving

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/trace"
)

// placeOfGap is the time between two operations of a request on a device, by their names and paths, and whether they are
// of one span.
type placeOfGap struct {
	device, before, pathBefore, after, pathAfter int32
	isWithin                                     bool
}

// network returns the engine of requests that take turns on devices, several each: a turn is the operations of a request
// on a device up to where the device works for another request, or has done so elsewhere at that place. A device with
// operations of several requests at a time is none to wait for. It returns nil if they are few, or rarely wait.
func (r *finder) network() *Engine {
	f := r.Forest
	byDevice := make(map[int32][]int32)
	for _, row := range f.Devices.ByStart {
		root := r.Owner[row]
		e, isRoot := r.byRoot[root]
		if isRoot && e == nil && r.Begin[row] != none && f.CountsInSums(row) && !r.Loops[r.Process[root]] &&
			r.ExecutionOf(row) == trace.NoExecution {
			byDevice[f.Device(row)] = append(byDevice[f.Device(row)], row)
		}
	}
	e := &Engine{Single: true}
	e.Turns = true
	kinds := make(map[placeOfGap]int32)
	ofRequest := make(map[int32][]int32) // steps
	for device, rows := range byDevice {
		r.addTurns(e, device, rows, kinds)
	}
	slices.SortStableFunc(e.Steps, func(a, b batching.Step) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Worker, b.Worker))
	})
	for i := range e.Steps {
		row := e.Steps[i].Row
		ofRequest[row] = append(ofRequest[row], int32(i))
	}
	const few, right, regular = 20, 10, 4
	overlaps, behind := 0, 0
	var late []int64 // times of turns behind others, from the end of these
	lastOf := make(map[int32]int)
	freed := make(map[int32]int64)
	came := make(map[int32]int64)
	for i := range e.Steps {
		s := &e.Steps[i]
		s.Came, s.Freed = r.At(r.Begin[s.Row]), math.MinInt64
		if at, known := came[s.Row]; known {
			s.Came = at
		}
		if at, known := freed[s.Worker]; known {
			s.Freed = at
		}
		if s.Ready = max(s.Came, s.Freed); s.Came >= s.Freed {
			s.Idle = 1
		}
		switch {
		case s.Start < s.Ready:
			if s.Start < s.Ready-microsecond {
				overlaps++
			}
			s.Ready = s.Start
		case s.Idle == 1:
		case right*(s.Start-s.Freed) <= s.Start-s.Came:
			behind++
		default:
			late = append(late, s.Start-s.Freed)
		}
		if k, known := lastOf[s.Worker]; known && s.Came < e.Steps[k].Start {
			e.Steps[k].Holds = true
		}
		lastOf[s.Worker] = i
		freed[s.Worker] = max(s.Freed, s.End)
		came[s.Row] = max(s.Came, s.End)
	}
	if len(late) > 0 { // a worker may have work of its own between turns, each time as long
		usual := sketch.Median(late)
		isLate := func(ns int64) bool { return ns > 2*usual }
		n := len(slices.DeleteFunc(slices.Clone(late), isLate))
		behind += n
		late = late[n:]
	}
	if len(e.Steps) < enough || few*overlaps > len(e.Steps) || behind < enough || regular*len(late) > behind {
		return nil
	}
	for _, root := range r.Roots {
		turns := ofRequest[root]
		if len(turns) == 0 {
			continue
		}
		q := batching.Request{
			Root: root, From: r.Begin[root], End: r.End[root], Arrival: r.At(r.Begin[root]),
			Duration: r.slack(r.Begin[root], r.End[root]), First: turns[0], Last: turns[len(turns)-1], Turns: turns, Prompt: 1,
		}
		for _, i := range turns {
			q.Loads = append(q.Loads, e.Steps[i].Load)
		}
		e.Served = append(e.Served, q)
		r.byRoot[root] = e
	}
	return e
}

// addTurns adds the turns on a device, given its operations by start.
func (r *finder) addTurns(e *Engine, device int32, rows []int32, kinds map[placeOfGap]int32) {
	f := r.Forest
	const few = 20
	gapOf := func(before, after int32) placeOfGap {
		g := placeOfGap{device: device, before: none, after: f.Name(after), pathAfter: f.Path(after)}
		if before != none {
			g.before, g.pathBefore = f.Name(before), f.Path(before)
			g.isWithin = f.Tree.Parent[before] == f.Tree.Parent[after]
		}
		return g
	}
	overlaps := 0
	ends := make(map[placeOfGap]bool)
	last := make(map[int32]int32) // the operation before of each request
	for i, row := range rows {
		root := r.Owner[row]
		before, known := last[root]
		if i > 0 && rows[i-1] != before {
			if f.End(rows[i-1]) > f.Start(row) {
				overlaps++
			}
			if known {
				ends[gapOf(before, row)] = true
			}
		}
		last[root] = row
	}
	if few*overlaps > len(rows) {
		return
	}
	clear(last)
	open := make(map[int32]int) // the turn of each request
	for _, row := range rows {
		root := r.Owner[row]
		before, known := last[root]
		last[root] = row
		if known && !ends[gapOf(before, row)] {
			s := &e.Steps[open[root]]
			if r.At(r.End[row]) > s.End {
				s.To, s.End = r.End[row], r.At(r.End[row])
				s.Load.Weight = float64(s.End - s.Start)
			}
			continue
		}
		if !known {
			before = none
		}
		place := gapOf(before, row)
		if _, known := kinds[place]; !known {
			kinds[place] = int32(len(kinds))
		}
		begin, end := r.Begin[row], r.End[row]
		s := batching.Step{
			Row: root, Execution: trace.NoExecution, From: begin, To: end, Start: r.At(begin), End: r.At(end),
			New: 1, Links: 1, Prompts: 1, Worker: device, Kind: kinds[place],
		}
		s.Load.Weight = float64(max(1, s.End-s.Start))
		open[root] = len(e.Steps)
		e.Steps = append(e.Steps, s)
	}
}
