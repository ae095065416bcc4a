package replay

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

// event is a piece on a host: an operation, a span, a launch or a call.
type event struct {
	start, end int64 // ns from the origin
	lane       lane
	owner      int32 // the row, or the complement of a call's index
	launch     bool  // the launch of row owner
	begin, at  int32 // points of start and end
	same       *event
}

// lane is what runs one event after another: a thread, or without threads a process, a request or an engine.
type lane struct {
	process int32
	thread  int64 // its id, 0 if unknown
	root    int32 // the request
}

// The roots of lanes that belong to no request.
const (
	ofProcess = int32(-1)
	ofEngine  = int32(-2)
)

// track is a part of a lane in which events nest.
type track struct {
	open []*event // the innermost last
	last int32    // point
}

// maxTracks bounds the tracks of a lane. Further overlapping events share the last one.
const maxTracks = 64

// host adds the points of events, lane by lane.
func (b *builder) host() {
	slices.SortFunc(b.events, func(x, y *event) int {
		return cmp.Or(cmp.Compare(x.lane.process, y.lane.process), cmp.Compare(x.lane.thread, y.lane.thread),
			cmp.Compare(x.lane.root, y.lane.root), cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end),
			cmp.Compare(x.owner, y.owner))
	})
	for events := range order.RunsOf(b.events, func(e **event) lane { return (*e).lane }) {
		b.addLane(events)
	}
	for _, e := range b.events {
		if e.same != nil {
			e.begin = e.same.begin
			e.at = e.same.at
		}
		switch {
		case e.owner < 0:
			b.calls = append(b.calls, e)
		case e.launch:
			b.launch[e.owner] = e
		default:
			b.begin[e.owner] = e.begin
			b.end[e.owner] = e.at
		}
	}
}

// addLane adds the points of the events of one lane, sorted by start.
func (b *builder) addLane(events []*event) {
	l := &lanePoints{}
	b.lanes[events[0].lane] = l
	var tracks []track
	var before *event // the launch before
	for _, e := range events {
		if e.launch && before != nil && before.start == e.start && before.end == e.end {
			e.same = before // one call for several operations
			continue
		}
		t := b.trackFor(&tracks, e, l)
		e.begin = b.put(t, e.start, l)
		at := len(t.open)
		for at > 0 && t.open[at-1].end < e.end { // by rounded times
			at--
		}
		t.open = slices.Insert(t.open, at, e)
		if e.launch {
			before = e
		}
	}
	for i := range tracks {
		b.closeUntil(&tracks[i], 1<<62, l)
	}
	l.sort(b)
}

// trackFor returns the first track in which e nests.
func (b *builder) trackFor(tracks *[]track, e *event, l *lanePoints) *track {
	for i := range *tracks {
		t := &(*tracks)[i]
		b.closeUntil(t, e.start, l)
		nests := len(t.open) == 0 || t.open[len(t.open)-1].end >= e.end
		if nests || e.lane.thread != 0 || i == maxTracks-1 {
			return t
		}
	}
	last := none
	if len(*tracks) > 0 {
		last = (*tracks)[0].last
	}
	*tracks = append(*tracks, track{last: last})
	return &(*tracks)[len(*tracks)-1]
}

// closeUntil ends the open events that end before or at a time.
func (b *builder) closeUntil(t *track, until int64, l *lanePoints) {
	for len(t.open) > 0 && t.open[len(t.open)-1].end <= until {
		e := t.open[len(t.open)-1]
		e.at = b.put(t, e.end, l)
		t.open = t.open[:len(t.open)-1]
	}
}

// put adds a point of a track. The time since the point before belongs to the innermost open event.
func (b *builder) put(t *track, at int64, l *lanePoints) int32 {
	p := b.g.add(at)
	b.thread = append(b.thread, none)
	if t.last != none {
		owner := int32(noOwner)
		if len(t.open) > 0 {
			owner = t.open[len(t.open)-1].owner
		}
		b.thread[p] = b.g.connect(t.last, p, b.g.slack(t.last, p), onThread, owner)
	}
	t.last = p
	l.points = append(l.points, p)
	return p
}

// threadEdge returns the edge from the point before p on its thread, or none.
func (b *builder) threadEdge(p int32) int32 {
	if int(p) >= len(b.thread) { // of a device
		return none
	}
	return b.thread[p]
}

// before returns the time of the point before p on its thread, that of p for the first.
func (b *builder) before(p int32) int64 {
	if e := b.threadEdge(p); e != none {
		return b.g.at[b.g.edges[e].from]
	}
	return b.g.at[p]
}

// wait adds an edge to a point of a host that waits for another point. If it did wait, the time before on the thread
// is at most usual.
func (b *builder) wait(p, after int32, usual int64, kind edgeKind, owner int32) {
	slack := b.g.slack(after, p)
	if slack < 0 {
		b.g.count[kind].Broken++
		return
	}
	if b.g.at[after] < b.before(p) {
		b.g.connect(after, p, min(slack, usual), kind, owner)
		return
	}
	b.g.connect(after, p, slack, kind, owner)
	if e := b.threadEdge(p); e != none {
		b.g.edges[e].lag = min(b.g.edges[e].lag, usual)
	}
}

// lanePoints are the points of a lane by time.
type lanePoints struct{ points []int32 }

func (l *lanePoints) sort(b *builder) {
	slices.SortStableFunc(l.points, func(x, y int32) int { return cmp.Compare(b.g.at[x], b.g.at[y]) })
}

// latest returns the last point of a lane at or before a time, or none.
func (b *builder) latest(of lane, at int64) int32 {
	l := b.lanes[of]
	if l == nil {
		return none
	}
	i, _ := slices.BinarySearchFunc(l.points, at, func(p int32, at int64) int {
		if b.g.at[p] <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return none
	}
	return l.points[i-1]
}
