package replay

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

// edgeKind is the reason for an edge.
type edgeKind uint8

const (
	onThread      edgeKind      = iota // the next event of a host thread
	onStream                           // the next operation of a stream
	afterLaunch                        // an operation after its launching call
	afterStream                        // an operation after one on another stream
	afterWait                          // the end of a waiting call after the device's work
	ofCollective                       // parts of a collective
	ofRequest                          // requests and their executions
	ofExecution                        // an execution after the one before
	own                                // the operation's own time
	numEdgeKinds                       // their number
	none          = int32(-1)          // no point, row or edge
	dropped       = -1 << 60           // the lag of an edge without effect
	microsecond   = int64(1000)        // ns
	longestWindow = 50 * microsecond
)

// edge says that point to comes at least lag after point from.
type edge struct {
	lag      int64 // ns
	from, to int32
	owner    int32 // the row with this time, the complement of a call's index, or none
	kind     edgeKind
}

const noOwner = -1 << 31

// EdgeCount counts the edges of a kind, and those that the recording contradicts.
type EdgeCount struct {
	Count  int64 `json:"count"`
	Broken int64 `json:"broken"`
}

// points is the graph of a recording. While it is built, edges come in any order. Once connected, points are numbered
// so that edges lead from smaller to larger numbers, and edges are sorted by the point they lead to.
type points struct {
	at    []int64 // recorded times, ns from the origin
	edges []edge
	first []int32 // of the edges to each point; with one more at the end
	count [numEdgeKinds]EdgeCount
}

func (g *points) add(at int64) int32 {
	g.at = append(g.at, at)
	return int32(len(g.at) - 1)
}

// connect adds an edge and returns its index, or none if the recording contradicts it.
func (g *points) connect(from, to int32, lag int64, kind edgeKind, owner int32) int32 {
	if lag < 0 && kind != onStream || g.at[from]+lag > g.at[to] {
		g.count[kind].Broken++
		return none
	}
	g.count[kind].Count++
	g.edges = append(g.edges, edge{lag, from, to, owner, kind})
	return int32(len(g.edges) - 1)
}

// slack returns the recorded time between two points.
func (g *points) slack(from, to int32) int64 { return g.at[to] - g.at[from] }

// finish numbers the points and sorts the edges. It returns the new number of each point.
func (g *points) finish() []int32 {
	numbers := g.number()
	at := make([]int64, len(g.at))
	for old, n := range numbers {
		at[n] = g.at[old]
	}
	g.at = at
	for i := range g.edges {
		e := &g.edges[i]
		e.from, e.to = numbers[e.from], numbers[e.to]
	}
	g.sortEdges()
	g.tighten()
	return numbers
}

// sortEdges sorts the edges by the point they lead to.
func (g *points) sortEdges() {
	rows, first := order.Group(int32(len(g.edges)), len(g.at), nil, func(i int32) int32 { return g.edges[i].to })
	sorted := make([]edge, len(g.edges))
	for i, r := range rows {
		sorted[i] = g.edges[r]
	}
	g.edges, g.first = sorted, first
}

// into returns the edges that lead to a point.
func (g *points) into(p int32) []edge { return g.edges[g.first[p]:g.first[p+1]] }

// number returns a number for each point, smaller than those of the points that wait for it. Cycles consist of points
// of one time; it leaves out their edges at the first of them.
func (g *points) number() []int32 {
	byFrom, first := order.Group(int32(len(g.edges)), len(g.at), nil, func(i int32) int32 { return g.edges[i].from })
	left := make([]int32, len(g.at)) // edges from points without a number
	for i := range g.edges {
		left[g.edges[i].to]++
	}
	var ready []int32
	for p, n := range slices.Backward(left) {
		if n == 0 {
			ready = append(ready, int32(p))
		}
	}
	numbers := slices.Repeat([]int32{none}, len(g.at))
	next := int32(0)
	var byTime []int32
	for int(next) < len(g.at) {
		if len(ready) == 0 {
			if byTime == nil {
				byTime = order.Numbers(len(g.at), func(a, b int32) int { return int(g.at[a] - g.at[b]) })
			}
			for numbers[byTime[0]] != none {
				byTime = byTime[1:]
			}
			ready = append(ready, g.cut(byTime[0], numbers))
		}
		p := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		numbers[p] = next
		next++
		for _, i := range byFrom[first[p]:first[p+1]] {
			e := &g.edges[i]
			if left[e.to]--; left[e.to] == 0 && numbers[e.to] == none && e.from != e.to {
				ready = append(ready, e.to)
			}
		}
	}
	return numbers
}

// cut leaves out the edges to p from points without a number.
func (g *points) cut(p int32, numbers []int32) int32 {
	for i := range g.edges {
		if e := &g.edges[i]; e.to == p && numbers[e.from] == none {
			g.count[e.kind].Count--
			g.count[e.kind].Broken++
			e.lag = dropped
		}
	}
	return p
}

// tighten gives the latest edge to each point the whole time since its start, if no edge explains the point.
func (g *points) tighten() {
	for p := range int32(len(g.at)) {
		latest := none
		explained := false
		edges := g.into(p)
		for i := range edges {
			e := &edges[i]
			if e.lag == dropped {
				continue
			}
			explained = explained || g.at[e.from]+e.lag == g.at[p]
			if latest == none || g.at[e.from] > g.at[edges[latest].from] {
				latest = int32(i)
			}
		}
		if latest != none && !explained {
			edges[latest].lag = g.slack(edges[latest].from, p)
		}
	}
}

// variant is a graph with other lags and additional edges.
type variant struct {
	*points
	lags []int64
	more map[int32][]edge // additional edges to a point, from points with smaller numbers
}

// variant returns the recorded lags, for a change.
func (g *points) variant() *variant {
	v := &variant{points: g, lags: make([]int64, len(g.edges)), more: make(map[int32][]edge)}
	for i := range g.edges {
		v.lags[i] = g.edges[i].lag
	}
	return v
}

// run returns the times of all points. Points without an edge keep their times.
func (v *variant) run() []int64 {
	at := make([]int64, len(v.at))
	for p := range at {
		from, to := v.first[p], v.first[p+1]
		latest := int64(dropped)
		for i := from; i < to; i++ {
			latest = max(latest, at[v.edges[i].from]+v.lags[i])
		}
		for _, e := range v.more[int32(p)] {
			latest = max(latest, at[e.from]+e.lag)
		}
		if latest <= dropped/2 {
			latest = v.at[p]
		}
		at[p] = latest
	}
	return at
}

// binding visits the edges that determine a point, from the last back to a point without edges.
func (v *variant) binding(p int32, at []int64, visit func(e *edge, lag int64)) {
	for {
		e, _, lag := v.edgeInto(p, at)
		if e == nil {
			return
		}
		visit(e, lag)
		p = e.from
	}
}

// edgeInto returns the edge that determines a point, its index or none, and its lag; nil for a point without one.
func (v *variant) edgeInto(p int32, at []int64) (e *edge, index int32, lag int64) {
	for i := v.first[p]; i < v.first[p+1]; i++ {
		if e := &v.edges[i]; v.lags[i] > dropped/2 && at[e.from]+v.lags[i] == at[p] {
			return e, i, v.lags[i]
		}
	}
	for i := range v.more[p] {
		if e := &v.more[p][i]; at[e.from]+e.lag == at[p] {
			return e, none, e.lag
		}
	}
	return nil, none, 0
}

// back visits the edges that determine a point back to a time, with the time of each. A point without an edge visits
// the rest with nil.
func (v *variant) back(p int32, until int64, at []int64, visit func(e *edge, index int32, ns int64)) {
	for at[p] > until {
		e, i, _ := v.edgeInto(p, at)
		if e == nil {
			visit(nil, none, at[p]-until)
			return
		}
		visit(e, i, at[p]-max(until, at[e.from]))
		p = e.from
	}
}
