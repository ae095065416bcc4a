// Package treeschedule replays a recording with the time of some operations removed.
//
// Below one parent, a starting node waits
//   - for all nodes without a stream that had ended before; a node without a stream waits for all nodes that
//     had ended before
//   - for the node that had ended last, plus the same delay as in the recording, which is the parent's own time.
//     If no node had ended before, it waits for the parent's start in the same way
//
// A node on a stream waits for all earlier nodes there, below any parent. A part of a collective waits for the last
// part to start, and then takes the recorded time. A parent ends after all nodes below it plus its own time at the end.
package treeschedule

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

// None stands for a missing node, set, stream or collective.
const None = -1

// Schedule holds nodes and their dependencies. The zero value is empty. Reset keeps its memory for reuse.
type Schedule struct {
	// Edges counts dependencies outside the tree.
	Edges Edges

	nodes []Node
	// from and to are the recorded times of nodes, begun and done their times in the latest run.
	from, to    []int64
	begun, done []times
	// order has the start of each node as its number and its end as the complement, by time.
	order []int32
	// ended and loose are the latest ends below each parent: of all nodes, and of nodes without a stream.
	ended, loose []times
	lanes        []times // latest end on each stream
	joins        []times // latest start in each collective
	// savings has the time saved in some nodes by removing each set.
	// savings has by how much nodes are shorter without each set.
	savings [][]int64

	laneNumbers, joinNumbers numbers
	parents                  int32 // nodes with children
	starts                   []int32
	keys                     []order.Key
}

// Together is the number of sets removed, each separately, by one run.
const Together = 4

// times is a time in each of the replays of one run.
type times [Together]int64

// Node is a span or an operation.
type Node struct {
	// Parent is the node above, or [None] for the first.
	Parent int32
	// Lane is its stream and Join its collective, if any.
	Lane, Join int32
	// Sets lists its sets, if any.
	Sets [2]int16

	saved int32 // index in savings, if any
	below int32 // index among parents, if it has children
	last  int32 // the sibling that had ended last before it, if any
	held  bool  // waits for the last part of its collective
	// lag is the parent's own time before it. tail is its own time at its end.
	lag, tail int64
}

// Edges counts dependencies: on an earlier node of the stream, and on the last part of the collective.
type Edges struct{ Stream, Collective int64 }

// Reset removes all nodes.
func (s *Schedule) Reset() {
	s.nodes = s.nodes[:0]
	s.from = s.from[:0]
	s.to = s.to[:0]
	s.savings = s.savings[:0]
	s.Edges = Edges{}
	s.parents = 0
	s.laneNumbers.clear()
	s.joinNumbers.clear()
}

// Add adds a node with its times. They must differ and lie within the parent's. The parent must be added before.
func (s *Schedule) Add(n Node, from, to int64) {
	n.below = None
	n.last = None
	n.saved = None
	if n.Lane != None {
		n.Lane = s.laneNumbers.of(n.Lane)
	}
	if n.Join != None {
		n.Join = s.joinNumbers.of(n.Join)
	}
	if n.Parent != None {
		if p := &s.nodes[n.Parent]; p.below == None {
			p.below = s.parents
			s.parents++
		}
	}
	s.nodes = append(s.nodes, n)
	s.from = append(s.from, from)
	s.to = append(s.to, to)
}

// Save sets the time saved in the last node by removing each set.
func (s *Schedule) Save(saved []int64) {
	s.nodes[len(s.nodes)-1].saved = int32(len(s.savings))
	s.savings = append(s.savings, saved)
}

// Times returns the recorded times of node i.
func (s *Schedule) Times(i int32) (from, to int64) { return s.from[i], s.to[i] }

// Count counts the nodes that get shorter by removing each set. It reports whether some of them do not belong to the
// set.
func (s *Schedule) Count(counts []int64) (saved bool) {
	clear(counts)
	for i := range s.nodes {
		for _, set := range s.nodes[i].Sets {
			if set != None {
				counts[set]++
			}
		}
	}
	for _, savings := range s.savings {
		for set, ns := range savings {
			if ns > 0 {
				counts[set]++
				saved = true
			}
		}
	}
	return saved
}

// numbers numbers small keys by first appearance.
type numbers struct {
	ids  []int32 // by key, the number plus 1
	keys []int32
}

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

func (n *numbers) clear() {
	for _, key := range n.keys {
		n.ids[key] = 0
	}
	n.keys = n.keys[:0]
}

// sort orders starts and ends. At equal times ends precede starts, ends of children precede their parent's, and starts
// of children follow their parent's. Children have larger numbers than their parents.
func (s *Schedule) sort() {
	s.sortKeys(s.from)
	s.starts = s.starts[:0]
	for _, k := range s.keys {
		s.starts = append(s.starts, k.Row)
	}
	s.sortKeys(s.to)
	for run := range order.Runs(s.keys) {
		slices.Reverse(run)
	}
	s.order = slices.Grow(s.order[:0], 2*len(s.nodes))
	ends := s.keys
	for _, start := range s.starts {
		for ; ends[0].At <= s.from[start]; ends = ends[1:] {
			s.order = append(s.order, ^ends[0].Row)
		}
		s.order = append(s.order, start)
	}
	for _, end := range ends {
		s.order = append(s.order, ^end.Row)
	}
}

func (s *Schedule) sortKeys(times []int64) {
	s.keys = slices.Grow(s.keys[:0], len(times))
	for i, at := range times {
		s.keys = append(s.keys, order.Key{At: at, Row: int32(i)})
	}
	order.Keys(s.keys)
}

// Connect computes the dependencies of nodes and the times between. Call it once all nodes are added.
func (s *Schedule) Connect() {
	s.sort()
	s.clear()
	latest := make([]int64, len(s.joins)) // start of the last part of each collective
	for i := range s.nodes {
		if j := s.nodes[i].Join; j != None {
			latest[j] = max(latest[j], s.from[i])
		}
	}
	last := slices.Repeat([]int32{None}, int(s.parents)) // latest ended child of each parent
	onLane := make([]bool, len(s.lanes))
	for _, event := range s.order {
		if event >= 0 {
			n := &s.nodes[event]
			if n.Parent == None {
				continue
			}
			if n.last = last[s.nodes[n.Parent].below]; n.last != None {
				n.lag = s.from[event] - s.to[n.last]
			} else {
				n.lag = s.from[event] - s.from[n.Parent]
			}
			if n.Lane != None && onLane[n.Lane] {
				s.Edges.Stream++
			}
			continue
		}
		i := ^event
		n := &s.nodes[i]
		after := s.from[i]
		if n.below != None {
			after = s.to[last[n.below]]
		} else if n.Join != None && latest[n.Join] < s.to[i] {
			n.held = true
			if latest[n.Join] > after {
				after = latest[n.Join]
				s.Edges.Collective++
			}
		}
		n.tail = s.to[i] - after
		if n.Lane != None {
			onLane[n.Lane] = true
		}
		if n.Parent == None {
			continue
		}
		if latest := &last[s.nodes[n.Parent].below]; *latest == None || s.to[*latest] < s.to[i] {
			*latest = i
		}
	}
}

func (s *Schedule) clear() {
	s.ended = zeros(s.ended, int(s.parents))
	s.loose = zeros(s.loose, int(s.parents))
	s.lanes = zeros(s.lanes, len(s.laneNumbers.keys))
	s.joins = zeros(s.joins, len(s.joinNumbers.keys))
}

func zeros(list []times, n int) []times {
	list = slices.Grow(list[:0], n)[:n]
	clear(list)
	return list
}

// Run returns the total duration with each of the sets, at most Together, removed: their operations take no time but
// keep their dependencies. With None it returns the recorded duration.
func (s *Schedule) Run(sets ...int16) []int64 {
	s.clear()
	n := len(s.nodes)
	s.begun = slices.Grow(s.begun[:0], n)[:n]
	s.done = slices.Grow(s.done[:0], n)[:n]
	out := [Together]int16{None, None, None, None}
	copy(out[:], sets)
	for _, event := range s.order {
		if event >= 0 {
			s.begin(event, &out)
		} else {
			s.end(^event, &out)
		}
	}
	return s.done[0][:len(sets)]
}

func (s *Schedule) begin(i int32, out *[Together]int16) {
	n := &s.nodes[i]
	at := &s.begun[i]
	if p := n.Parent; p == None {
		*at = times{}
	} else {
		above := &s.nodes[p]
		lag := above.without(n.lag, out)
		switch {
		case n.last == None:
			from := &s.begun[p]
			for k := range at {
				at[k] = from[k] + lag[k]
			}
		case n.Lane == None:
			from := &s.begun[p]
			ended := &s.ended[above.below]
			for k := range at {
				at[k] = max(from[k], ended[k]+lag[k])
			}
		default:
			from := &s.begun[p]
			last := &s.done[n.last]
			loose := &s.loose[above.below]
			for k := range at {
				at[k] = max(from[k], max(last[k], loose[k])+lag[k])
			}
		}
	}
	if n.Lane != None {
		at.atLeast(&s.lanes[n.Lane])
	}
	if n.Join != None {
		s.joins[n.Join].atLeast(at)
	}
}

func (s *Schedule) end(i int32, out *[Together]int16) {
	n := &s.nodes[i]
	at := &s.done[i]
	*at = s.begun[i]
	if n.below != None {
		at.atLeast(&s.ended[n.below])
	}
	if n.held {
		at.atLeast(&s.joins[n.Join])
	}
	tail := n.without(n.tail, out)
	for k := range at {
		at[k] += tail[k]
	}
	if n.saved != None {
		for k, set := range out {
			if set != None {
				at[k] -= s.savings[n.saved][set]
			}
		}
	}
	if n.Lane != None {
		s.lanes[n.Lane].atLeast(at)
	}
	if p := n.Parent; p != None {
		above := s.nodes[p].below
		s.ended[above].atLeast(at)
		if n.Lane == None {
			s.loose[above].atLeast(at)
		}
	}
}

func (t *times) atLeast(others *times) {
	for k := range t {
		t[k] = max(t[k], others[k])
	}
}

// without returns ns, and 0 in replays without n's sets.
func (n *Node) without(ns int64, out *[Together]int16) times {
	t := times{ns, ns, ns, ns}
	if n.Sets == [2]int16{None, None} {
		return t
	}
	for k, set := range out {
		if set != None && (n.Sets[0] == set || n.Sets[1] == set) {
			t[k] = 0
		}
	}
	return t
}
