package timeline

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/optrace/optrace/op"
)

// Lane is a track: slices of a stream without overlap other than nesting. Slices with repeated ids have separate lanes.
type Lane struct {
	Group  Group
	Stream op.Int
	Again  bool
	Number int // counts the lanes of the stream from 0
}

// Arrange sorts the slices by group, stream and start, enclosing slices first, assigns each to a lane, and returns the
// lanes in order. Call it once.
func (t *Timeline) Arrange() (lanes []Lane) {
	t.markAgain()
	// Services come first, and slices with repeated ids last in their stream.
	slices.SortStableFunc(t.Slices, func(a, b Slice) int {
		return cmp.Or(compareBools(b.IsService, a.IsService), compareInts(a.Rank, b.Rank), cmp.Compare(a.Name, b.Name),
			compareBools(a.Bare, b.Bare), compareInts(a.Stream, b.Stream), compareBools(a.again, b.again),
			cmp.Compare(a.Start, b.Start), cmp.Compare(b.End(), a.End()))
	})
	for from := 0; from < len(t.Slices); {
		first := &t.Slices[from]
		to := from + 1
		for to < len(t.Slices) && t.Slices[to].Group == first.Group && t.Slices[to].Stream == first.Stream &&
			t.Slices[to].again == first.again {
			to++
		}
		for n := range divide(t.Slices[from:to], len(lanes)) {
			lanes = append(lanes, Lane{first.Group, first.Stream, first.again, n})
		}
		from = to
	}
	return lanes
}

// divide assigns each slice of a stream to a lane, numbered from first, such that slices of a lane overlap only if one
// encloses the other. It returns the number of lanes. The slices are sorted by start.
//
//	a ----------
//	b   ----        within a
//	c        -----  on another lane
func divide(stream []Slice, first int) (lanes int) {
	byEnd := make([]int, len(stream))
	for i := range byEnd {
		byEnd[i] = i
	}
	slices.SortFunc(byEnd, func(i, k int) int { return cmp.Or(cmp.Compare(stream[i].End(), stream[k].End()), i-k) })
	var open [][]int64 // by lane, the ends of the enclosing slices, innermost last
	var free room
	for i := range stream {
		s := &stream[i]
		for byEnd[0] < i && stream[byEnd[0]].End() <= s.Start {
			lane := stream[byEnd[0]].Lane - first
			byEnd = byEnd[1:]
			open[lane] = open[lane][:len(open[lane])-1]
			free.set(lane, open[lane])
		}
		lane := free.first(s.End())
		if lane == len(open) {
			open = append(open, nil)
		}
		open[lane] = append(open[lane], s.End())
		free.set(lane, open[lane])
		s.Lane = first + lane
	}
	return len(open)
}

// room finds lanes by the latest end of a slice that fits in: that of the innermost open slice.
type room struct {
	latest []int64 // of a lane, or of all lanes below a node of a binary tree, whose root is number 1
	lanes  int     // a power of two; the number of the first lane's node
}

// first returns the first lane with room up to an end.
func (r *room) first(end int64) int {
	for r.lanes == 0 || r.latest[1] < end {
		latest := slices.Repeat([]int64{math.MaxInt64}, max(2, 4*r.lanes))
		copy(latest[len(latest)/2:], r.latest[r.lanes:])
		r.latest = latest
		r.lanes = len(latest) / 2
		for node := r.lanes - 1; node > 0; node-- {
			latest[node] = max(latest[2*node], latest[2*node+1])
		}
	}
	node := 1
	for node < r.lanes {
		if node *= 2; r.latest[node] < end {
			node++
		}
	}
	return node - r.lanes
}

// set sets the open slices of a lane.
func (r *room) set(lane int, open []int64) {
	node := r.lanes + lane
	r.latest[node] = math.MaxInt64
	if len(open) > 0 {
		r.latest[node] = open[len(open)-1]
	}
	for node /= 2; node > 0; node /= 2 {
		r.latest[node] = max(r.latest[2*node], r.latest[2*node+1])
	}
}

// Note marks the titles of groups without starts; "" for all others.
func (g Group) Note() string {
	if g.Bare {
		return " (no start times: in order)"
	}
	return ""
}

// Title names the group: a service, a device, or the devices of a rank if it has no name.
func (g Group) Title() string {
	title := cmp.Or(g.Name, "devices")
	switch {
	case g.IsService:
		title = "service " + g.Name
	case g.Rank.Known && g.Name == "":
		title = "rank " + g.Rank.String()
	case g.Rank.Known:
		title = "rank " + g.Rank.String() + " " + g.Name
	}
	return title + g.Note()
}

// Title names the lane within its group.
func (l *Lane) Title() string {
	title := "operations"
	switch {
	case l.Group.IsService:
		title = "spans"
	case l.Stream.Known:
		title = "stream " + l.Stream.String()
	}
	if l.Again {
		title += ", ids seen before"
	}
	if l.Number > 0 {
		title += " (overlap " + strconv.Itoa(l.Number) + ")"
	}
	return title
}
