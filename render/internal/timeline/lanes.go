package timeline

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/optrace/optrace/op"
)

// Lane is a track: slices of a stream without overlap other than nesting. Slices with repeated ids have separate lanes.
type Lane struct {
	Group  Group
	Stream op.Int
	Again  bool
	// Number counts the lanes of the stream from 0.
	Number int
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
	var open [][]int64 // by lane, the ends of the enclosing slices, innermost last
	for i := range stream {
		s := &stream[i]
		lane := 0
		for ; lane < len(open); lane++ {
			ends := open[lane]
			for len(ends) > 0 && ends[len(ends)-1] <= s.Start {
				ends = ends[:len(ends)-1]
			}
			open[lane] = ends
			if len(ends) == 0 || s.End() <= ends[len(ends)-1] {
				break
			}
		}
		if lane == len(open) {
			open = append(open, nil)
		}
		open[lane] = append(open[lane], s.End())
		s.Lane = first + lane
	}
	return len(open)
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
