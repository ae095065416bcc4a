package replay

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/internal/heap"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/schedule"
	"github.com/optrace/optrace/analyze/trace"
)

// event is a piece on a host: an operation, a span, a launch or a call.
type event struct {
	start, end int64 // ns from the origin
	lane       int32 // its number
	owner      int32 // the row, or the complement of a call's index
	begin, at  int32 // points of start and end
	same       int32 // an earlier event: one call launches several operations
	launch     bool  // the launch of row owner
}

// lane runs one event after another: a thread, or without threads a process, a request or an engine.
type lane struct {
	process int32
	thread  int64 // its id, or noThread
	root    int32 // the request
	device  int32 // of a thread that drives it, as in [drivers.Of]
}

// The roots of lanes without a request.
const (
	ofProcess = int32(-1)
	ofEngine  = int32(-2) // less the number of the engine's first device, from 1
)

// noThread is an unknown thread, as in [trace.Names].
const noThread = -1

// track is a part of a lane with nested events.
type track struct {
	open   heap.Heap[open]
	last   int32 // point
	engine bool  // of executions
}

// open is an event before its end, the nth of its lane. The innermost is the first to end, and of these the last to
// start.
type open struct {
	end   int64
	n     int
	event int32
}

func isOutside(a, b open) bool { return cmp.Or(cmp.Compare(b.end, a.end), cmp.Compare(a.n, b.n)) < 0 }

// maxTracks bounds the tracks of a lane. Further overlapping events share the last one.
const maxTracks = 64

// host adds the points of events, lane by lane.
func (b *builder) host() {
	n := len(b.lanes.Values)
	b.lanePoints = make([][]int32, n)
	byLane, first := order.Group(int32(len(b.events)), n, nil, func(i int32) int32 { return b.events[i].lane })
	for l := range n {
		list := byLane[first[l]:first[l+1]]
		order.Rows(list, func(i int32) int64 { return b.events[i].start }, func(i, j int32) int {
			x, y := &b.events[i], &b.events[j]
			return cmp.Or(cmp.Compare(y.end, x.end), cmp.Compare(x.owner, y.owner))
		})
		b.addLane(int32(l), list)
	}
	for i := range b.events {
		e := &b.events[i]
		if e.same != none {
			e.begin = b.events[e.same].begin
			e.at = b.events[e.same].at
		}
		switch {
		case e.owner < 0:
			b.calls = append(b.calls, int32(i))
		case e.launch:
			b.launch[e.owner] = int32(i)
		default:
			b.begin[e.owner] = e.begin
			b.end[e.owner] = e.at
		}
	}
}

// silent is the least time without an event of a thread before it may wait for another thread.
const silent = 100 * microsecond

// handOver lets a silent thread go on after the last event of another thread of its process, if this is in the
// second half of the silence. PyTorch's backward pass goes on so, on a thread of its own. Threads of a server
// have requests of their own, so only lanes with events of the same request do this there.
func (b *builder) handOver() {
	byProcess, first := order.Group(int32(len(b.lanes.Values)), len(b.loops), nil, func(l int32) int32 {
		if b.lanes.Values[l].thread == noThread {
			return none
		}
		return b.lanes.Values[l].process
	})
	h := handOvers{builder: b, last: repeat(len(b.lanes.Values))}
	for p := range b.loops {
		lanes := byProcess[first[p]:first[p+1]]
		if len(lanes) < 2 || len(lanes) > maxTracks || !b.loops[p] {
			continue
		}
		var points []int32
		for _, l := range lanes {
			points = append(points, b.lanePoints[l]...)
		}
		h.add(points, lanes)
	}
	h.requests()
}

// handOvers is the state of [builder.handOver].
type handOvers struct {
	*builder
	laneOf []int32 // by node of a host
	last   []int32 // the last point of each lane
	order  []int8  // of points at the same time, by node: ends, begins of spans, begins of operations
}

// add looks at the points of lanes by time.
func (h *handOvers) add(points, lanes []int32) {
	if h.laneOf == nil {
		h.laneOf = make([]int32, h.g.Nodes()-h.g.Owned())
		h.order = make([]int8, len(h.laneOf))
		for l, list := range h.lanePoints {
			for _, point := range list {
				h.laneOf[point>>1-h.g.Owned()] = int32(l)
			}
		}
		for i := range h.events {
			e := &h.events[i]
			n := &h.order[e.begin>>1-h.g.Owned()]
			if *n = 1; e.launch || e.owner < 0 || h.forest.Has(e.owner, trace.FlagOp) {
				*n = 2
			}
		}
	}
	for _, l := range lanes {
		h.last[l] = none
	}
	order.Rows(points, h.g.At, func(p, q int32) int {
		return cmp.Or(cmp.Compare(h.order[p>>1-h.g.Owned()], h.order[q>>1-h.g.Owned()]), cmp.Compare(p, q))
	})
	for _, point := range points {
		l := h.laneOf[point>>1-h.g.Owned()]
		h.goOn(point, l, lanes, h.last)
		h.last[l] = point
	}
}

// requests looks at the requests of servers with events in several lanes.
func (h *handOvers) requests() {
	rows := h.forest.Len()
	lanes := make(map[int32][]int32) // by root
	rootOf := func(e *event) int32 {
		if e.owner < 0 || h.loops[h.process[e.owner]] || h.rows.ExecutionOf(e.owner) != trace.NoExecution {
			return none
		}
		if root := h.rows.Owner[e.owner]; int(root) < rows {
			return root
		}
		return none
	}
	for i := range h.events {
		e := &h.events[i]
		root := rootOf(e)
		if root != none && len(lanes[root]) <= maxTracks && !slices.Contains(lanes[root], e.lane) {
			lanes[root] = append(lanes[root], e.lane)
		}
	}
	isDivided := func(root int32) bool { return len(lanes[root]) > 1 && len(lanes[root]) <= maxTracks }
	points := make(map[int32][]int32)
	for i := range h.events {
		e := &h.events[i]
		if root := rootOf(e); root != none && isDivided(root) {
			points[root] = append(points[root], e.begin, e.at)
		}
	}
	for _, root := range slices.Sorted(maps.Keys(points)) {
		slices.Sort(points[root])
		h.add(slices.Compact(points[root]), lanes[root])
	}
}

// goOn lets a point wait for the last point of another lane if its own lane was silent.
func (b *builder) goOn(point, lane int32, lanes, last []int32) {
	before := b.before(point)
	lag := b.g.Lag(^(point >> 1))
	owner := b.g.owner[point>>1]
	inSpan := owner >= 0 && !b.forest.Has(owner, trace.FlagOp)
	if before != none && (lag <= silent || owner != noOwner && !inSpan) {
		return
	}
	other := none
	for _, l := range lanes {
		if l != lane && last[l] != none && (other == none || b.g.At(last[l]) > b.g.At(other)) {
			other = last[l]
		}
	}
	if other == none || before != none && 2*b.g.slack(other, point) >= lag {
		return
	}
	b.g.connect(other, point, b.g.slack(other, point), onThread)
	b.handed[point] = other
	if before != none {
		b.g.Set(^(point >> 1), usualHost)
	}
}

// addLane adds the points of the events of a lane, sorted by start.
func (b *builder) addLane(l int32, events []int32) {
	from := b.g.Nodes()
	var tracks []track
	before := none // the launch before
	var called [2]int64
	for n, i := range events {
		e := &b.events[i]
		if e.launch && before != none && called == [2]int64{e.start, e.end} {
			e.same = before
			continue
		}
		if e.launch {
			before = i
			called = [2]int64{e.start, e.end}
		}
		t := b.trackFor(&tracks, e)
		b.startAfter(t, e)
		e.begin = b.put(t, e.start)
		if e.launch && e.start == e.end {
			e.at = e.begin
			continue
		}
		t.open.Push(open{e.end, n, i})
	}
	for i := range tracks {
		b.closeUntil(&tracks[i], 1<<62)
	}
	points := make([]int32, 0, b.g.Nodes()-from)
	for node := from; node < b.g.Nodes(); node++ {
		points = append(points, schedule.Begin(node))
	}
	order.Rows(points, b.g.At, cmp.Compare[int32])
	b.lanePoints[l] = points
}

// trackFor returns the first track where e nests.
func (b *builder) trackFor(tracks *[]track, e *event) *track {
	for i := range *tracks {
		t := &(*tracks)[i]
		b.closeUntil(t, e.start)
		nests := len(t.open.Items) == 0
		if !nests { // an overlap may come from rounded times
			end := t.open.Top().end
			nests = end >= e.end || end-e.start <= microsecond
		}
		if nests || b.lanes.Values[e.lane].thread != noThread || i == maxTracks-1 {
			return t
		}
	}
	last := none
	if len(*tracks) > 0 {
		last = (*tracks)[0].last
	}
	*tracks = append(*tracks, track{
		open: heap.Heap[open]{Less: isOutside}, last: last, engine: b.lanes.Values[e.lane].root <= ofEngine,
	})
	return &(*tracks)[len(*tracks)-1]
}

// closeUntil ends the open events up to a time.
func (b *builder) closeUntil(t *track, until int64) {
	for len(t.open.Items) > 0 && t.open.Top().end <= until {
		e := &b.events[t.open.Top().event]
		e.at = b.put(t, e.end)
		t.open.Pop()
	}
}

// startAfter lets e start after the events that it overlaps by rounded times, and does not nest in.
func (b *builder) startAfter(t *track, e *event) {
	for len(t.open.Items) > 0 && t.open.Top().end < e.end && t.open.Top().end-e.start <= microsecond {
		e.start = t.open.Top().end
		b.closeUntil(t, e.start)
	}
	if t.last != none { // it begins with an event that starts after another one
		e.start = max(e.start, b.g.At(t.last))
		e.end = max(e.end, e.start)
	}
}

// put adds a point of a track. The time since the point before belongs to the innermost open event.
func (b *builder) put(t *track, at int64) int32 {
	kind := schedule.Kind(onThread)
	owner := int32(noOwner)
	if len(t.open.Items) > 0 {
		owner = b.events[t.open.Top().event].owner
	} else if t.engine {
		kind = ofExecution
	}
	t.last = b.g.follow(at, t.last, kind, owner)
	return t.last
}

// before returns the point before p on its thread, or none.
func (b *builder) before(p int32) int32 {
	if p>>1 < b.g.Owned() { // of a device
		return none
	}
	return b.g.From(^(p >> 1))
}

// atMost bounds the time before p on its thread.
func (b *builder) atMost(p int32, usual int64) {
	if b.before(p) != none {
		b.g.Set(^(p >> 1), min(b.g.Lag(^(p>>1)), usual))
	}
}

// wait adds an edge to a point of a host waiting for another point. If it did wait, the time before on the thread
// is at most usual.
func (b *builder) wait(p, after int32, usual int64, kind schedule.Kind) {
	slack := b.g.slack(after, p)
	before := p
	if b.before(p) != none {
		before = b.before(p)
	}
	if b.g.At(after) < b.g.At(before) {
		b.g.connect(after, p, min(slack, usual), kind)
		return
	}
	b.g.connect(after, p, slack, kind)
	if slack >= 0 {
		b.atMost(p, usual)
	}
}

// latest returns the last point of a lane at or before a time, or none.
func (b *builder) latest(l int32, at int64) int32 {
	points := b.lanePoints[l]
	i := sort.Search(len(points), func(i int) bool { return b.g.At(points[i]) > at })
	if i == 0 {
		return none
	}
	return points[i-1]
}

// trees adds the edges between spans of different lanes: a span starts after the one above it has started, and ends
// after the last of those below it.
func (b *builder) trees() {
	f := b.forest
	last := repeat(f.Len())           // the last to end below each span in another lane
	launched := make(map[int32]int32) // the first to be launched below each span
	follows := b.calledInTurn()
	for r := range f.Rows() {
		if b.begin[r] == none {
			continue
		}
		onHost := !b.isOnDevice(r)
		p := f.Tree.Parent[r]
		if onHost && p != trace.NoRow && b.begin[p] != none && b.laneOf(p) != b.laneOf(r) &&
			b.g.slack(b.begin[p], b.begin[r]) >= 0 {
			before, inTurn := follows[r]
			if inTurn {
				b.wait(b.begin[r], b.end[before], usualHost, onThread)
			}
			if other, known := b.handed[b.begin[r]]; inTurn || known && b.g.At(other) >= b.g.At(b.begin[p]) {
				b.g.connect(b.begin[p], b.begin[r], min(usualHost, b.g.slack(b.begin[p], b.begin[r])), onThread)
			} else {
				b.wait(b.begin[r], b.begin[p], usualHost, onThread)
			}
		}
		if b.launch[r] != none && p != trace.NoRow && b.begin[p] != none {
			if before, known := launched[p]; !known || b.launchOf(r) < b.launchOf(before) {
				launched[p] = r
			}
		}
		if onHost && (p == trace.NoRow || b.begin[p] == none || b.laneOf(p) == b.laneOf(r)) {
			continue
		}
		for depth := 0; p != trace.NoRow && depth < maxDepth; depth++ {
			above := b.end[p]
			if above != none && f.Thread(p) == 0 && !f.Has(p, trace.FlagOp) && b.g.slack(b.end[r], above) >= 0 {
				if last[p] != none && b.g.slack(b.end[r], b.end[last[p]]) >= 0 {
					break
				}
				last[p] = r
			}
			p = f.Tree.Parent[p]
		}
	}
	for p, r := range last {
		if r == none {
			continue
		}
		after := b.lastExecution(int32(p), b.g.At(b.end[p]))
		if after != none && b.g.At(after) > b.g.At(b.end[r]) { // it waits for this
			b.g.connect(b.end[r], b.end[p], min(usualHost, b.g.slack(b.end[r], b.end[p])), afterWait)
		} else {
			b.wait(b.end[p], b.end[r], usualHost, afterWait)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(launched)) {
		b.firstLaunch(b.events[b.launch[launched[p]]].begin, b.begin[p])
	}
}

// calledInTurn returns, for each span without a thread, the last to end before it of the spans beside it that are in another
// process: calls of other services, one after the other. Of a thread that drives a device, it is what ends before it without
// work of a device, such as reading the input.
func (b *builder) calledInTurn() map[int32]int32 {
	f := b.forest
	follows := make(map[int32]int32)
	isCall := func(r int32) bool { return b.begin[r] != none && !b.isOnDevice(r) && f.Thread(r) == 0 }
	for p := range f.Rows() {
		children := f.Tree.Children(p)
		if len(children) < 2 || f.Has(p, trace.FlagOp) {
			continue
		}
		byStart := slices.DeleteFunc(slices.Clone(children), func(r int32) bool { return !isCall(r) })
		if len(byStart) < 2 {
			continue
		}
		byEnd := slices.Clone(byStart)
		order.Rows(byStart, f.Start, f.CompareStart)
		order.Rows(byEnd, f.End, f.CompareStart)
		ended := 0
		for _, r := range byStart {
			for ended < len(byEnd) && f.End(byEnd[ended]) <= f.Start(r) {
				ended++
			}
			if ended == 0 {
				continue
			}
			before := byEnd[ended-1]
			its, own := b.lanes.Values[b.laneOf(before)], b.lanes.Values[b.laneOf(r)]
			if before != r && (its.process != own.process || its.device == 0 && own.device != 0) {
				follows[r] = before
			}
		}
	}
	return follows
}

// firstLaunch lets the first launch below a span of another lane wait for the begin of the span, if its own thread did
// nothing since.
func (b *builder) firstLaunch(launch, span int32) {
	before := b.before(launch)
	if before != none && b.g.At(before) < b.g.At(span) && b.g.At(span) <= b.g.At(launch) {
		b.wait(launch, span, usualHost, onThread)
	}
}
