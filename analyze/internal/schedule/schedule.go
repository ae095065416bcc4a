// Package schedule computes start times from dependencies.
//
// A node has a start time. A point is the start of a node or, for nodes with a duration, its end. An edge is a dependency:
// its node starts at least a lag after its point. A replay starts each node as soon as all of its edges allow.
package schedule

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

const (
	// None is a missing node or point.
	None = int32(-1)
	// Dropped is the lag of an edge without effect.
	Dropped = -1 << 60
)

// Kind is the reason for an edge.
type Kind uint8

// Own is the kind of the time between the start and the end of a node.
const Own Kind = 0

// Begin returns the point at the start of a node.
func Begin(node int32) int32 { return node << 1 }

// End returns the point at the end of a node with a duration.
func End(node int32) int32 { return node<<1 | 1 }

// Graph holds nodes and edges. Add nodes after the nodes they wait for, or call Sort. Edges have numbers. The edge from
// the start of a node to its end, or for a node without a duration from the node before it, has the complement of the
// node's number.
type Graph struct {
	Lags // recorded

	at    []int64 // recorded starts, by node; nodes with a duration come first
	prev  []int32 // the node before each other node, or None
	from  []int32 // points, by edge
	to    []int32 // nodes, by edge; nil once connected
	first []int32 // of the edges to each node, with one more at the end
	order []int32 // the nodes in the order of a replay
	kinds struct{ prev, edge []Kind }
}

// Reset removes all nodes and edges, and keeps the memory.
func (g *Graph) Reset() {
	g.Lags = Lags{node: g.node[:0], edge: g.edge[:0], long: g.long[:0]}
	g.at = g.at[:0]
	g.prev = g.prev[:0]
	g.from = g.from[:0]
	g.to = g.to[:0]
	g.order = g.order[:0]
	g.kinds.prev = g.kinds.prev[:0]
	g.kinds.edge = g.kinds.edge[:0]
}

// Add adds a node with a start and a duration. Call it before Follow.
func (g *Graph) Add(at, own int64) (node int32) {
	node = int32(len(g.at))
	g.at = append(g.at, at)
	g.node = append(g.node, 0)
	g.Set(^node, own)
	g.order = append(g.order, node)
	return node
}

// Follow adds a node without a duration. It starts at least lag after the node prev, unless prev is None.
func (g *Graph) Follow(at int64, prev int32, lag int64, kind Kind) (node int32) {
	g.prev = append(g.prev, prev)
	g.kinds.prev = append(g.kinds.prev, kind)
	return g.Add(at, lag)
}

// Connect adds an edge from a point to a node.
func (g *Graph) Connect(from, to int32, lag int64, kind Kind) (edge int32) {
	g.from = append(g.from, from)
	g.to = append(g.to, to)
	g.kinds.edge = append(g.kinds.edge, kind)
	g.edge = append(g.edge, 0)
	edge = int32(len(g.edge) - 1)
	g.Set(edge, lag)
	return edge
}

// Grow reserves memory for nodes with a duration, other nodes, and edges.
func (g *Graph) Grow(owned, others, edges int) {
	g.at = slices.Grow(g.at, owned+others)
	g.node = slices.Grow(g.node, owned+others)
	g.order = slices.Grow(g.order, owned+others)
	g.prev = slices.Grow(g.prev, others)
	g.kinds.prev = slices.Grow(g.kinds.prev, others)
	g.from = slices.Grow(g.from, edges)
	g.to = slices.Grow(g.to, edges)
	g.edge = slices.Grow(g.edge, edges)
	g.kinds.edge = slices.Grow(g.kinds.edge, edges)
}

// Nodes returns the number of nodes.
func (g *Graph) Nodes() int32 { return int32(len(g.at)) }

// Owned returns the number of nodes with a duration.
func (g *Graph) Owned() int32 { return int32(len(g.at) - len(g.prev)) }

// At returns the recorded time of a point.
func (g *Graph) At(p int32) int64 { return at(g.at, &g.Lags, p) }

func at(starts []int64, lags *Lags, p int32) int64 {
	if p&1 == 0 {
		return starts[p>>1]
	}
	return starts[p>>1] + lags.Lag(^(p >> 1))
}

// Kind returns the kind of an edge.
func (g *Graph) Kind(edge int32) Kind {
	switch i := ^edge - g.Owned(); {
	case edge >= 0:
		return g.kinds.edge[edge]
	case i < 0:
		return Own
	default:
		return g.kinds.prev[i]
	}
}

// From returns the start point of an edge, or None if the edge's node has no node before it.
func (g *Graph) From(edge int32) int32 {
	switch i := ^edge - g.Owned(); {
	case edge >= 0:
		return g.from[edge]
	case i < 0:
		return Begin(^edge)
	case g.prev[i] == None:
		return None
	default:
		return Begin(g.prev[i])
	}
}

// Further returns the first of the numbered edges to a node, and the one after the last.
func (g *Graph) Further(node int32) (first, last int32) { return g.first[node], g.first[node+1] }

// Into yields the edges to a node of a finished graph, without the edge from its start to its end.
func (g *Graph) Into(node int32) func(yield func(edge int32) bool) {
	return func(yield func(int32) bool) {
		if node >= g.Owned() && g.prev[node-g.Owned()] != None && !yield(^node) {
			return
		}
		for e := g.first[node]; e < g.first[node+1]; e++ {
			if !yield(e) {
				return
			}
		}
	}
}

// Finish completes the graph. It keeps the order of the edges to a node. Edges keep their numbers if they were added in
// the order of their nodes.
func (g *Graph) Finish() {
	sorted := 1 // edges that stay where they are
	for sorted < len(g.to) && g.to[sorted-1] <= g.to[sorted] {
		sorted++
	}
	if sorted < len(g.to) {
		sorted, _ = slices.BinarySearch(g.to[:sorted], slices.Min(g.to[sorted:])+1)
		moved := g.to[sorted:]
		rows, _ := order.Group(int32(len(moved)), len(g.at), nil, func(i int32) int32 { return moved[i] })
		permute(g.from[sorted:], rows)
		permute(g.edge[sorted:], rows)
		permute(g.kinds.edge[sorted:], rows)
	}
	g.first = slices.Grow(g.first, len(g.at)+1)[:len(g.at)+1]
	clear(g.first)
	for _, to := range g.to {
		g.first[to+1]++
	}
	for i := range g.at {
		g.first[i+1] += g.first[i]
	}
}

func permute[T any](list []T, rows []int32) {
	old := slices.Clone(list)
	for i, r := range rows {
		list[i] = old[r]
	}
}

// Sort orders the nodes of a finished graph by time, and nodes with equal times after the nodes they wait for. Nodes with
// a duration must be in order already. Sort drops edges of cycles and calls cut for each. If no edge to a node ends at its
// recorded start, Sort changes the lag of the edge from the latest point accordingly.
func (g *Graph) Sort(cut func(Kind)) {
	g.to = nil
	keys := make([]order.Key, len(g.prev))
	for i := range keys {
		node := g.Owned() + int32(i)
		keys[i] = order.Key{At: g.at[node], Row: node}
	}
	order.Keys(keys)
	states := make([]state, len(g.at))
	g.order = g.order[:0]
	var open []int32
	for node := int32(0); node < g.Owned() || len(keys) > 0; {
		at := int64(math.MaxInt64)
		if len(keys) > 0 {
			at = keys[0].At
		}
		if node < g.Owned() {
			at = min(at, g.at[node])
		}
		for ; node < g.Owned() && g.at[node] == at; node++ {
			open = append(open, node)
		}
		for ; len(keys) > 0 && keys[0].At == at; keys = keys[1:] {
			open = append(open, keys[0].Row)
		}
		if len(open) == 1 {
			g.order = append(g.order, open[0])
			open = open[:0]
		}
		slices.Reverse(open) // the first to be placed first
		for len(open) > 0 {
			open = g.place(open, states, cut)
		}
	}
	for p := range g.Nodes() {
		g.tighten(p)
	}
}

// state is the progress of a node on its way into the order.
type state uint8

const (
	isNew state = iota
	isOpen
	isPlaced
)

// place appends the last open node to the order, or first opens the nodes with the same time it waits for.
func (g *Graph) place(open []int32, states []state, cut func(Kind)) []int32 {
	p := open[len(open)-1]
	if states[p] == isPlaced {
		return open[:len(open)-1]
	}
	states[p] = isOpen
	n := len(open)
	for e := range g.Into(p) {
		q := g.From(e) >> 1
		switch {
		case g.at[q] < g.at[p] || states[q] == isPlaced:
		case states[q] == isNew:
			open = append(open, q)
		case g.Lag(e) != Dropped:
			cut(g.Kind(e))
			g.Set(e, Dropped)
		}
	}
	if len(open) == n {
		states[p] = isPlaced
		g.order = append(g.order, p)
		return open[:n-1]
	}
	return open
}

func (g *Graph) tighten(p int32) {
	tight := int32(0)
	latest := int64(Dropped)
	for e := range g.Into(p) {
		lag := g.Lag(e)
		if lag == Dropped {
			continue
		}
		from := g.At(g.From(e))
		if from+lag == g.at[p] {
			return
		}
		if from > latest {
			latest = from
			tight = e
		}
	}
	if latest != Dropped {
		g.Set(tight, g.at[p]-latest)
	}
}

// Lags are the lags of a graph's edges in ns. Most fit 31 bits.
type Lags struct {
	node, edge []int32 // or the complement of 1 + an index of long; the complement of 0 for Dropped
	long       []int64
}

func (l *Lags) short(edge int32) *int32 {
	if edge < 0 {
		return &l.node[^edge]
	}
	return &l.edge[edge]
}

// Lag returns the lag of an edge.
func (l *Lags) Lag(edge int32) int64 { return l.value(*l.short(edge)) }

func (l *Lags) value(short int32) int64 {
	switch {
	case short >= 0:
		return int64(short)
	case short == ^0:
		return Dropped
	}
	return l.long[^short-1]
}

// Set sets the lag of an edge.
func (l *Lags) Set(edge int32, ns int64) {
	p := l.short(edge)
	switch {
	case ns <= Dropped:
		*p = ^0
	case 0 <= ns && ns < 1<<31:
		*p = int32(ns)
	default:
		l.long = append(l.long, ns)
		*p = ^int32(len(l.long))
	}
}

// Variant is a graph with other lags and additional edges.
type Variant struct {
	*Graph
	Lags
	More   map[int32][]Further // by node
	starts []int64
}

// Further is an additional edge of a variant.
type Further struct {
	From int32 // a point computed before the node, because of other edges
	Lag  int64
	Kind Kind
}

// Variant returns a variant with the recorded lags. It reuses the memory of used, if not nil.
func (g *Graph) Variant(used *Variant) *Variant {
	if used == nil {
		used = new(Variant)
	}
	return &Variant{
		Graph: g, More: make(map[int32][]Further), starts: slices.Grow(used.starts[:0], len(g.at))[:len(g.at)],
		Lags: Lags{
			append(used.Lags.node[:0], g.node...), append(used.Lags.edge[:0], g.edge...),
			append(used.Lags.long[:0], g.long...),
		},
	}
}

// Recorded returns the graph as a variant with the recorded starts. The variant must not be changed.
func (g *Graph) Recorded() *Variant { return &Variant{Graph: g, Lags: g.Lags, starts: g.at} }

// Undo gives an edge its recorded lag.
func (v *Variant) Undo(edge int32) { *v.Lags.short(edge) = *v.Graph.short(edge) }

// Time returns the time of a point in the latest run.
func (v *Variant) Time(p int32) int64 { return at(v.starts, &v.Lags, p) }

// Run computes the times of all points, and returns the latest. A node without an edge starts as recorded.
func (v *Variant) Run() (end int64) {
	owned := v.Owned()
	lags := &v.Lags
	starts := v.starts
	from := v.from
	for _, p := range v.order {
		latest := int64(Dropped)
		if p >= owned && v.prev[p-owned] != None {
			latest = starts[v.prev[p-owned]] + lags.value(lags.node[p])
		}
		for e := v.first[p]; e < v.first[p+1]; e++ {
			node := from[e] >> 1
			lag := lags.edge[e]
			own := lags.node[node] & -(from[e] & 1)
			t := starts[node] + int64(lag) + int64(own)
			if lag|own < 0 {
				t = starts[node] + lags.value(lag) + lags.value(own)
			}
			latest = max(latest, t)
		}
		if len(v.More) > 0 {
			for _, e := range v.More[p] {
				latest = max(latest, v.Time(e.From)+e.Lag)
			}
		}
		if latest <= Dropped/2 {
			latest = v.at[p]
		}
		starts[p] = latest
		end = max(end, latest)
		if p < owned {
			end = max(end, latest+lags.value(lags.node[p]))
		}
	}
	return end
}

// Last returns the point with the latest time, the first of several, or None for an empty graph.
func (v *Variant) Last() int32 {
	last := None
	end := int64(math.MinInt64)
	for _, node := range v.order {
		p := Begin(node)
		if node < v.Owned() && v.Lag(^node) > 0 {
			p = End(node)
		}
		if at := v.Time(p); at > end {
			end = at
			last = p
		}
	}
	return last
}

// Before returns the step to the time of a point: the edge that determines it, with its start point, lag and kind. The
// edge of a [Further] is [NoEdge]. ok is false if no edge determines the point.
func (v *Variant) Before(p int32) (s Step, ok bool) {
	if p&1 != 0 {
		return Step{Begin(p >> 1), ^(p >> 1), v.Lag(^(p >> 1)), Own}, true
	}
	for e := range v.Into(p >> 1) {
		if lag := v.Lag(e); lag != Dropped && v.Time(v.From(e))+lag == v.Time(p) {
			return Step{v.From(e), e, lag, v.Kind(e)}, true
		}
	}
	for _, e := range v.More[p>>1] {
		if v.Time(e.From)+e.Lag == v.Time(p) {
			return Step{e.From, NoEdge, e.Lag, e.Kind}, true
		}
	}
	return s, false
}

// NoEdge is the edge of a step by a [Further].
const NoEdge = 1<<31 - 1

// Step is the edge to a point.
type Step struct {
	From, Edge int32
	Lag        int64
	Kind       Kind
}
