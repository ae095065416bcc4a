package analyze

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// schedule is what ran in a trace, or in an execution, with what each waited for, so that
// it can be run again with the time of some operations left out. Times count from its
// start.
//
// Below one parent, what begins waits
//   - for what had ended before, of the spans and operations that name no device; a span,
//     and an operation that names none, waits for everything that had ended before
//   - for the one that had ended last, whatever it is, and then as long as it waited in the
//     trace: that is the parent's own time. Where nothing had ended before, it waits
//     for the parent's start in the same way
//
// An operation waits for all that had ended before on its stream of its device, below any
// parent. A collective takes what it took after the last of its parts had begun, and waits
// for that. A parent ends after everything below it, and after its own time then.
//
// A shared execution is one operation of the requests that it works for.
type schedule struct {
	forest *Forest
	nodes  []scheduled
	// from and to are the times of the nodes: as recorded, and then of the latest run.
	from, to []int64
	// order has the number of each node twice, in the order of time: its beginning and,
	// as the complement, its end.
	order []int32
	// ended and loose are the latest end of what lies below each node with anything below,
	// and of that what names no device.
	ended, loose []int64
	lanes        []int64 // the latest end on each stream
	joins        []int64 // the latest beginning of each collective
	// savings has by how much executions are shorter without each set.
	savings [][]int64
	edges   scheduleEdges

	laneNumbers, joinNumbers numbers
	parents                  int32 // nodes with anything below
	starts                   []int32
	keys                     []timed
	sorter                   keySorter
}

// scheduled is a node of a schedule.
type scheduled struct {
	row    int32
	parent int32 // noRow for the first
	below  int32 // its place among the nodes with anything below; noRow for none
	last   int32 // the node below the same parent that had ended last before; noRow for none
	lane   int32 // noRow for none
	join   int32 // the collective that it is a part of; noRow for none
	held   bool  // by the last to arrive in the collective
	closed bool  // what lies below is left out
	// sets are the sets of operations that it belongs to; noSet for none.
	sets [2]int16
	// lag is the parent's own time before it, tail its own time at its end.
	lag, tail int64
	// saved is its place in savings; noRow for none.
	saved int32
}

// scheduleEdges counts what nodes wait for beside the tree.
type scheduleEdges struct{ stream, collective int64 }

// scheduling says how a schedule is made.
type scheduling struct {
	sets  func(row int32) [2]int16
	joins map[int32]int32        // collectives by the rows of their parts
	saved func(w window) []int64 // of an execution; may be nil
}

// build makes the schedule of a window.
func (s *schedule) build(w window, roots []int32, how *scheduling) {
	s.nodes, s.from, s.to, s.edges = s.nodes[:0], s.from[:0], s.to[:0], scheduleEdges{}
	s.savings, s.parents = s.savings[:0], 0
	s.laneNumbers.clear()
	s.joinNumbers.clear()
	s.place(scheduled{row: w.row, parent: noRow, saved: noRow}, 0, w.to-w.from, how)
	for i := int32(0); int(i) < len(s.nodes); i++ {
		if s.nodes[i].closed {
			continue
		}
		children := roots
		if s.nodes[i].row != noRow {
			children = s.forest.pathChildren(s.nodes[i].row)
		}
		for _, r := range slices.Backward(children) { // the first to end first
			s.placeChild(i, r, w.from, how)
		}
	}
	s.sort()
	s.connect()
}

// reserve makes room for n nodes.
func (s *schedule) reserve(n int) {
	if n > cap(s.nodes) {
		s.nodes, s.from, s.to = make([]scheduled, 0, n), make([]int64, 0, n), make([]int64, 0, n)
		s.keys, s.starts, s.order = make([]timed, 0, n), make([]int32, 0, n), make([]int32, 0, 2*n)
	}
}

// placeChild places row r below node i, if any of its time lies within.
func (s *schedule) placeChild(i, r int32, origin int64, how *scheduling) {
	f := s.forest
	if !f.has(r, flagStart) {
		return
	}
	start := f.start(r) - origin
	from, to := max(start, s.from[i]), min(start+f.duration(r), s.to[i])
	if from >= to {
		return
	}
	n := scheduled{row: r, parent: i, saved: noRow}
	if s.nodes[i].row != noRow && f.tree.parent[r] != s.nodes[i].row {
		n.closed = true // an execution, by a link
		if w := (window{row: r, from: origin + from, to: origin + to}); how.saved != nil && f.isWhole(w) {
			n.saved = int32(len(s.savings))
			s.savings = append(s.savings, how.saved(w))
		}
	}
	if s.nodes[i].below == noRow {
		s.nodes[i].below = s.parents
		s.parents++
	}
	s.place(n, from, to, how)
}

// place adds a node.
func (s *schedule) place(n scheduled, from, to int64, how *scheduling) {
	f := s.forest
	n.last, n.lane, n.join, n.below, n.sets = noRow, noRow, noRow, noRow, [2]int16{noSet, noSet}
	if n.row != noRow && !n.closed && f.isDeviceSide(n.row) {
		n.sets = how.sets(n.row)
		if lane := f.lane(n.row); !f.dict.lanes.Values[lane].device.IsNone() {
			n.lane = s.laneNumbers.of(f.onDevice.streams[lane])
		}
		if f.kind(n.row) == op.KindCollective {
			if collective, ok := how.joins[n.row]; ok {
				n.join = s.joinNumbers.of(collective)
			}
		}
	}
	s.nodes, s.from, s.to = append(s.nodes, n), append(s.from, from), append(s.to, to)
}

// numbers numbers small keys in the order of their first appearance.
type numbers struct {
	ids  []int32 // by key, 1 more than the number
	keys []int32
}

// of returns the number of key.
func (n *numbers) of(key int32) int32 {
	for int(key) >= len(n.ids) {
		n.ids = append(n.ids, 0)
	}
	if n.ids[key] == 0 {
		n.keys = append(n.keys, key)
		n.ids[key] = int32(len(n.keys))
	}
	return n.ids[key] - 1
}

// clear forgets all keys.
func (n *numbers) clear() {
	for _, key := range n.keys {
		n.ids[key] = 0
	}
	n.keys = n.keys[:0]
}

// sort orders the beginnings and ends: at the same time ends before beginnings, what is
// below another before that when it ends, and behind it when it begins. Nodes have larger
// numbers than those that they lie below.
func (s *schedule) sort() {
	s.sortKeys(s.from)
	s.starts = s.starts[:0]
	for _, k := range s.keys {
		s.starts = append(s.starts, k.row)
	}
	s.sortKeys(s.to)
	for run := range equalRuns(s.keys) {
		slices.Reverse(run)
	}
	s.order = slices.Grow(s.order[:0], 2*len(s.nodes))
	ends := s.keys
	for _, start := range s.starts {
		for ; ends[0].at <= s.from[start]; ends = ends[1:] {
			s.order = append(s.order, ^ends[0].row)
		}
		s.order = append(s.order, start)
	}
	for _, end := range ends {
		s.order = append(s.order, ^end.row)
	}
}

// sortKeys sorts the nodes by a time of each.
func (s *schedule) sortKeys(times []int64) {
	s.keys = slices.Grow(s.keys[:0], len(times))
	for i, at := range times {
		s.keys = append(s.keys, timed{at, int32(i)})
	}
	s.sorter.sort(s.keys)
}

// connect finds what each node had waited for, and the times in between.
func (s *schedule) connect() {
	s.clear()
	latest := s.lastParts()
	last := slices.Repeat([]int32{noRow}, int(s.parents)) // below each node with anything below
	onLane := make([]bool, len(s.lanes))
	for _, event := range s.order {
		if event >= 0 {
			n := &s.nodes[event]
			if n.parent == noRow {
				continue
			}
			if n.last = last[s.nodes[n.parent].below]; n.last != noRow {
				n.lag = s.from[event] - s.to[n.last]
			} else {
				n.lag = s.from[event] - s.from[n.parent]
			}
			if n.lane != noRow && onLane[n.lane] {
				s.edges.stream++
			}
			continue
		}
		i := ^event
		n := &s.nodes[i]
		after := s.from[i]
		if n.below != noRow {
			after = s.to[last[n.below]]
		} else if n.join != noRow && latest[n.join] < s.to[i] {
			n.held = true
			if latest[n.join] > after {
				after = latest[n.join]
				s.edges.collective++
			}
		}
		n.tail = s.to[i] - after
		if n.lane != noRow {
			onLane[n.lane] = true
		}
		if n.parent == noRow {
			continue
		}
		if latest := &last[s.nodes[n.parent].below]; *latest == noRow || s.to[*latest] < s.to[i] {
			*latest = i
		}
	}
}

// lastParts returns when the last part of each collective began.
func (s *schedule) lastParts() []int64 {
	latest := make([]int64, len(s.joins))
	for i := range s.nodes {
		if j := s.nodes[i].join; j != noRow {
			latest[j] = max(latest[j], s.from[i])
		}
	}
	return latest
}

// clear forgets the latest run.
func (s *schedule) clear() {
	n := int(s.parents)
	s.ended, s.loose = slices.Grow(s.ended[:0], n)[:n], slices.Grow(s.loose[:0], n)[:n]
	s.lanes = slices.Grow(s.lanes[:0], len(s.laneNumbers.keys))[:len(s.laneNumbers.keys)]
	s.joins = slices.Grow(s.joins[:0], len(s.joinNumbers.keys))[:len(s.joinNumbers.keys)]
	clear(s.ended)
	clear(s.loose)
	clear(s.lanes)
	clear(s.joins)
}

// run returns how long everything takes when the operations of a set take no time: what
// they wait for remains. With noSet it takes what it took.
func (s *schedule) run(set int16) int64 {
	s.clear()
	for _, event := range s.order {
		if event >= 0 {
			s.begin(event, set)
		} else {
			s.end(^event, set)
		}
	}
	return s.to[0]
}

// begin runs the beginning of node i without a set.
func (s *schedule) begin(i int32, set int16) {
	n := &s.nodes[i]
	at := int64(0)
	if p := n.parent; p != noRow {
		lag, above := n.lag, &s.nodes[p]
		if above.isIn(set) {
			lag = 0
		}
		at = s.from[p]
		switch {
		case n.last == noRow:
			at += lag
		case n.lane == noRow:
			at = max(at, s.ended[above.below]+lag)
		default:
			at = max(at, max(s.to[n.last], s.loose[above.below])+lag)
		}
	}
	if n.lane != noRow {
		at = max(at, s.lanes[n.lane])
	}
	if n.join != noRow {
		s.joins[n.join] = max(s.joins[n.join], at)
	}
	s.from[i] = at
}

// end runs the end of node i without a set.
func (s *schedule) end(i int32, set int16) {
	n := &s.nodes[i]
	at := s.from[i]
	if n.below != noRow {
		at = max(at, s.ended[n.below])
	}
	if n.held {
		at = max(at, s.joins[n.join])
	}
	if !n.isIn(set) {
		at += n.tail
	}
	if n.saved != noRow && set != noSet {
		at -= s.savings[n.saved][set]
	}
	s.to[i] = at
	if n.lane != noRow {
		s.lanes[n.lane] = max(s.lanes[n.lane], at)
	}
	if p := n.parent; p != noRow {
		above := s.nodes[p].below
		s.ended[above] = max(s.ended[above], at)
		if n.lane == noRow {
			s.loose[above] = max(s.loose[above], at)
		}
	}
}

// isIn reports whether n belongs to a set.
func (n *scheduled) isIn(set int16) bool {
	return set != noSet && (n.sets[0] == set || n.sets[1] == set)
}
