package path

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/schedule"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

const none = schedule.None

// noSet stands for a missing set.
const noSet = -1

// scheduler makes schedules of traces and executions. Times count from the start of the window.
//
// A node waits for ended nodes below its parent: on a stream, for the last one and for all without a stream; without a
// stream, for all. The recorded delay after the last end is the parent's own time. If no node had ended, the node waits
// for the parent's start in the same way.
//
// A node on a stream also waits for all earlier nodes there, below any parent. A part of a collective waits for the
// start of the last part, and then takes the recorded time. A parent ends after all nodes below it plus its own time at
// the end.
type scheduler struct {
	forest *trace.Forest
	sets   func(name, device int32, kind op.Kind) [2]int16
	joins  *collective.Joins
	saved  func(w Window) []int64 // time saved in an execution, may be nil

	edges    Edges // outside the tree
	nodes    []node
	lanes    map[int32]int32 // the point of the latest end on each stream
	parts    map[int32]*parts
	savings  [][]saving // by set
	graph    schedule.Graph
	variant  *schedule.Variant
	events   []int32 // starts of nodes, and the complements of their numbers for ends
	from, to []int64 // of nodes
}

// node is a span or an operation.
type node struct {
	row          int32 // NoRow for a first node without one, the complement for a closed node
	parent       int32
	lane, join   int32 // its stream and collective, or none
	sets         [2]int16
	saved        []int64 // by set, in an execution
	start, end   int32   // points
	waits        [3]int32
	last         int32 // the node below with the latest end
	ended, loose int32 // the points of the latest end below, and of the latest without a stream
	isParent     bool
}

// parts are the started parts of a collective.
type parts struct {
	latest int64 // start of any part
	starts []int32
	all    int32 // the point at which all have started, or none
}

// saving is an edge shortened by removing a set.
type saving struct {
	edge int32
	ns   int64
}

// build makes the schedule of a window.
func (s *scheduler) build(w Window, roots []int32) {
	s.nodes = s.nodes[:0]
	s.from = s.from[:0]
	s.to = s.to[:0]
	s.add(w.Row, none, 0, w.To-w.From)
	for i := int32(0); int(i) < len(s.nodes) && !s.forest.EndedAt(int(i)); i++ {
		children := roots
		switch r := s.nodes[i].row; {
		case i == 0 && r == trace.NoRow:
		case r < 0:
			continue
		default:
			children = s.forest.PathChildren(r)
		}
		for _, r := range slices.Backward(children) { // the first to end first
			s.addChild(i, r, w.From)
		}
	}
	s.connect()
}

// addChild adds row r below node i if some of its time lies within.
func (s *scheduler) addChild(i, r int32, origin int64) {
	f := s.forest
	if !f.Has(r, trace.FlagStart) {
		return
	}
	start := f.Start(r) - origin
	from := max(start, s.from[i])
	to := min(start+f.Duration(r), s.to[i])
	if from >= to {
		return
	}
	s.nodes[i].isParent = true
	if parent := s.nodes[i].row; parent == trace.NoRow || f.Tree.Parent[r] == parent {
		s.add(r, i, from, to)
		return
	}
	s.add(^r, i, from, to) // an execution, by a link
	w := Window{Row: r, From: origin + from, To: origin + to}
	if s.saved != nil && isWhole(f, w) && !f.IsDeep(f.Executions.Of[r]) {
		s.nodes[len(s.nodes)-1].saved = s.saved(w)
	}
}

func (s *scheduler) add(row, parent int32, from, to int64) {
	f := s.forest
	n := node{
		row: row, parent: parent, lane: none, join: none, sets: [2]int16{noSet, noSet},
		last: none, ended: none, loose: none, waits: [3]int32{none, none, none},
	}
	if row >= 0 && f.IsDeviceSide(row) {
		lane := f.Lane(row)
		kind := f.Kind(row)
		n.sets = s.sets(f.Name(row), f.Devices.Lanes[lane], kind)
		if !f.Names.Lanes.Values[lane].Device.IsNone() {
			n.lane = f.Devices.Streams[lane]
		}
		if kind == op.KindCollective {
			n.join = s.joins.Number(row)
		}
	}
	s.nodes = append(s.nodes, n)
	s.from = append(s.from, from)
	s.to = append(s.to, to)
}

// connect makes the graph. At equal times ends precede starts, ends of children precede their parent's, and starts of
// children follow their parent's. Children have larger numbers than their parents.
func (s *scheduler) connect() {
	s.graph.Reset()
	for set := range s.savings {
		s.savings[set] = s.savings[set][:0]
	}
	clear(s.lanes)
	clear(s.parts)
	s.edges = Edges{}
	for i := range s.nodes {
		if j := s.nodes[i].join; j != none {
			p := order.At(s.parts, j)
			p.latest = max(p.latest, s.from[i])
			p.all = none
		}
	}
	s.events = s.events[:0]
	for i := range s.nodes {
		s.events = append(s.events, int32(i), ^int32(i))
	}
	order.Rows(s.events, func(i int32) int64 {
		if i < 0 {
			return s.to[^i]
		}
		return s.from[i]
	}, cmp.Compare[int32])
	for _, i := range s.events {
		if i < 0 {
			s.end(^i)
		} else {
			s.start(i)
		}
	}
	s.graph.Finish()
	s.variant = s.graph.Variant(s.variant)
}

// wait connects a point, unless none, to the newest node of the graph. The lag is own time of node i.
func (s *scheduler) wait(point int32, lag int64, i int32) {
	if point == none {
		return
	}
	edge := s.graph.Connect(point, s.graph.Nodes()-1, lag, schedule.Own)
	s.saves(edge, lag, i)
}

// saves records the time of an edge as own time of node i.
func (s *scheduler) saves(edge int32, ns int64, i int32) {
	if ns == 0 {
		return
	}
	for _, set := range s.nodes[i].sets {
		if set != noSet {
			s.save(int(set), edge, ns)
		}
	}
}

func (s *scheduler) save(set int, edge int32, ns int64) {
	for len(s.savings) <= set {
		s.savings = append(s.savings, nil)
	}
	s.savings[set] = append(s.savings[set], saving{edge, ns})
}

func (s *scheduler) start(i int32) {
	n := &s.nodes[i]
	own := int64(0)
	isWhole := !n.isParent && !s.isHeld(i) // needs no other node for its end
	if isWhole {
		own = s.to[i] - s.from[i]
	}
	at := s.graph.Add(s.from[i], own)
	n.start = schedule.Begin(at)
	if isWhole {
		s.finish(i, at, own)
	}
	if p := n.parent; p != none {
		above := &s.nodes[p]
		switch {
		case above.last == none:
			s.wait(above.start, s.from[i]-s.from[p], p)
		case n.lane == none:
			n.waits[0] = above.ended
		default:
			n.waits[0] = s.nodes[above.last].end
			n.waits[1] = above.loose
		}
		if above.last != none {
			lag := s.from[i] - s.to[above.last]
			s.wait(n.waits[0], lag, p)
			s.wait(n.waits[1], lag, p)
		}
	}
	if end, ok := s.lanes[n.lane]; ok {
		s.edges.Stream++
		n.waits[2] = end
		s.wait(end, 0, i)
	}
	if n.join != none {
		s.parts[n.join].starts = append(s.parts[n.join].starts, n.start)
	}
}

// isHeld reports whether node i waits for the last part of its collective.
func (s *scheduler) isHeld(i int32) bool {
	n := &s.nodes[i]
	return !n.isParent && n.join != none && s.parts[n.join].latest < s.to[i]
}

// finish sets the end of node i to the end of the graph's node at, with a duration of ns.
func (s *scheduler) finish(i, at int32, ns int64) {
	n := &s.nodes[i]
	n.end = schedule.End(at)
	s.saves(^at, ns, i)
	for set, saved := range n.saved {
		if saved > 0 {
			s.save(set, ^at, saved)
		}
	}
}

func (s *scheduler) end(i int32) {
	n := &s.nodes[i]
	switch {
	case n.isParent:
		after := s.to[n.last]
		at := s.graph.Add(after, s.to[i]-after)
		s.wait(n.ended, 0, i)
		s.finish(i, at, s.to[i]-after)
	case s.isHeld(i):
		p := s.parts[n.join]
		if p.all == none {
			p.all = schedule.Begin(s.graph.Add(p.latest, 0))
			for _, start := range p.starts {
				s.wait(start, 0, i)
			}
		}
		after := max(p.latest, s.from[i])
		if p.latest > s.from[i] {
			s.edges.Collective++
		}
		at := s.graph.Add(after, s.to[i]-after)
		s.wait(p.all, 0, i)
		s.finish(i, at, s.to[i]-after)
	}
	if n.lane != none {
		end, ok := s.lanes[n.lane]
		if !ok {
			end = none
		}
		s.lanes[n.lane] = s.later(end, i)
	}
	if n.parent == none {
		return
	}
	above := &s.nodes[n.parent]
	if above.last == none || s.to[above.last] < s.to[i] {
		above.last = i
	}
	above.ended = s.later(above.ended, i)
	if n.lane == none {
		above.loose = s.later(above.loose, i)
	}
}

// later returns the later of a point and the end of node i. It is the end if the node has waited for the point.
func (s *scheduler) later(point, i int32) int32 {
	n := &s.nodes[i]
	if point == none || slices.Contains(n.waits[:], point) {
		return n.end
	}
	at := s.graph.Add(max(s.graph.At(point), s.to[i]), 0)
	s.wait(point, 0, i)
	s.wait(n.end, 0, i)
	return schedule.Begin(at)
}

// count counts, by set, the nodes shortened by removing the set. It reports whether some of them, executions, do not
// belong to the set.
func (s *scheduler) count(counts []int64) (saved bool) {
	clear(counts)
	for i := range s.nodes {
		n := &s.nodes[i]
		for _, set := range n.sets {
			if set != noSet {
				counts[set]++
			}
		}
		for set, ns := range n.saved {
			if ns > 0 {
				counts[set]++
				saved = true
			}
		}
	}
	return saved
}

// run returns the total duration without a set: its operations take no time but keep their dependencies.
func (s *scheduler) run(set int) int64 {
	var savings []saving
	if set < len(s.savings) {
		savings = s.savings[set]
	}
	for _, e := range savings {
		s.variant.Set(e.edge, s.variant.Lag(e.edge)-e.ns)
	}
	s.variant.Run()
	took := s.variant.Time(s.nodes[0].end)
	for _, e := range savings {
		s.variant.Undo(e.edge)
	}
	return took
}
