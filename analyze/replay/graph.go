package replay

import (
	"iter"

	"github.com/optrace/optrace/analyze/internal/schedule"
)

// The reasons for an edge.
const (
	own          = schedule.Own // the operation's own time
	onThread     = iota         // the next event of a host thread
	onStream                    // the next operation of a stream
	afterLaunch                 // an operation after its launching call
	afterStream                 // an operation after one on another stream
	afterWait                   // the end of a waiting call after the device's work
	whileHeld                   // as afterWait, of a host waiting outside calls
	ofCollective                // parts of a collective
	ofRequest                   // requests and their executions
	ofExecution                 // an execution after the one before
	numEdgeKinds                // their number
)

const (
	none          = schedule.None // no point, row or edge
	dropped       = schedule.Dropped
	microsecond   = int64(1000) // ns
	longestWindow = 50 * microsecond
)

const noOwner = -1 << 31

// EdgeCount counts the edges of a kind, and the ones in contradiction to the recording.
type EdgeCount struct {
	Count  int64 `json:"count"`
	Broken int64 `json:"broken"`
}

// points is the graph of a recording. An operation of a device is a node with a time of its own. Each start and end of
// an event on a host is a node, too, and so is the last start of a collective, followed by the end of each part.
type points struct {
	schedule.Graph
	owner []int32 // by node: the row with the time before it, the complement of a call's index, or noOwner
	count [numEdgeKinds]EdgeCount
}

// follow adds a node after another one, and returns its point. prev is the point before it, or none.
func (g *points) follow(at int64, prev int32, kind schedule.Kind, owner int32) int32 {
	g.owner = append(g.owner, owner)
	if prev != none && !g.counts(prev, at, 0, kind) {
		prev = none
	}
	if prev == none {
		return schedule.Begin(g.Follow(at, none, 0, kind))
	}
	return schedule.Begin(g.Follow(at, prev>>1, at-g.At(prev), kind))
}

// connect adds an edge to a point at the start of a node, unless the recording contradicts it.
func (g *points) connect(from, to int32, lag int64, kind schedule.Kind) {
	if g.counts(from, g.At(to), lag, kind) {
		g.Connect(from, to>>1, lag, kind)
	}
}

// counts counts an edge, and reports whether the recording allows it.
func (g *points) counts(from int32, to, lag int64, kind schedule.Kind) bool {
	if lag < 0 && kind != onStream || g.At(from)+lag > to {
		g.count[kind].Broken++
		return false
	}
	g.count[kind].Count++
	return true
}

// slack returns the recorded time between two points.
func (g *points) slack(from, to int32) int64 { return g.At(to) - g.At(from) }

// edge sets the point to at least a lag after the point from.
type edge struct {
	index    int32 // of its lag
	from, to int32
	owner    int32 // the row with this time, the complement of a call's index, or noOwner
	kind     schedule.Kind
}

// edge returns an edge to a point.
func (g *points) edge(s schedule.Step, to int32) edge {
	owner := g.owner[to>>1]
	if s.Edge >= 0 && (s.Kind == onThread || s.Kind == whileHeld || s.Kind == ofRequest) {
		owner = noOwner
	}
	return edge{s.Edge, s.From, to, owner, s.Kind}
}

// edges calls yield for the edges to the points of a node until it returns false.
func (g *points) edges(node int32, yield func(edge) bool) bool {
	begin := schedule.Begin(node)
	from := g.From(^node)
	if from != none && node >= g.Owned() && !yield(edge{^node, from, begin, g.owner[node], g.Kind(^node)}) {
		return false
	}
	for e, last := g.Further(node); e < last; e++ {
		if !yield(g.edge(schedule.Step{From: g.From(e), Edge: e, Kind: g.Kind(e)}, begin)) {
			return false
		}
	}
	return node >= g.Owned() || yield(edge{^node, begin, schedule.End(node), g.owner[node], own})
}

// all yields all edges.
func (g *points) all() iter.Seq[edge] {
	return func(yield func(edge) bool) {
		for node := range g.Nodes() {
			if !g.edges(node, yield) {
				return
			}
		}
	}
}

// owned yields the edges with a selected owner.
func (g *points) owned(selected func(owner int32) bool) iter.Seq[edge] {
	return func(yield func(edge) bool) {
		isOwned := func(e edge) bool { return e.owner == noOwner || yield(e) }
		for node, owner := range g.owner {
			if owner != noOwner && selected(owner) && !g.edges(int32(node), isOwned) {
				return
			}
		}
	}
}

// variant is a graph with other lags and additional edges.
type variant = schedule.Variant

// variant returns the recorded lags, for a change.
func (g *points) variant() *variant { return g.Variant(nil) }

// binding visits the binding edges of a point, from the last back to a point without edges.
func (g *points) binding(v *variant, p int32, visit func(e edge, lag int64)) {
	for {
		s, ok := v.Before(p)
		if !ok {
			return
		}
		visit(g.edge(s, p), s.Lag)
		p = s.From
	}
}

// back visits the binding edges of a point back to a time, with the time of each. A point without an edge visits
// the rest with ok false.
func (g *points) back(v *variant, p int32, until int64, visit func(e edge, lag, ns int64, ok bool)) {
	for v.Time(p) > until {
		s, ok := v.Before(p)
		if !ok {
			visit(edge{}, 0, v.Time(p)-until, false)
			return
		}
		visit(g.edge(s, p), s.Lag, v.Time(p)-max(until, v.Time(s.From)), true)
		p = s.From
	}
}
