package replay

import (
	"sort"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/trace"
)

// remove takes out operations, what is within those of hosts, the calls that launched them, and host operators that
// launched nothing else.
func (g *Graph) remove(s *selection, v *variant) {
	g.addBelow(s)
	g.addHosts(s)
	g.addWithin(s)
	for e := range g.g.owned(s.has) {
		lag := min(v.Lag(e.index), 0)
		if e.owner >= 0 && e.kind == afterWait {
			lag = dropped
		}
		v.Set(e.index, lag)
	}
	g.removeLaunches(s, v)
}

// removeLaunches takes out the launches of selected operations that are stated as a time without a duration: the time
// of a host before such a launch, and of a pause the usual one.
func (g *Graph) removeLaunches(s *selection, v *variant) {
	const pause = 8 // times the usual time
	f := g.forest
	const stays, goes = 1, 2
	launches := make([]uint8, g.g.Nodes()) // the operations of a launch
	for e := range g.g.owned(isRow) {
		isLaunch := e.kind == afterLaunch && f.Has(e.owner, trace.FlagLaunch) && f.Launched(e.owner) <= f.Launch(e.owner)
		switch node := e.from >> 1; {
		case !isLaunch || g.g.From(^node) == none:
		case s.rows[e.owner]:
			launches[node] |= goes
		default:
			launches[node] |= stays
		}
	}
	lags := []int64{0}
	for node, of := range launches {
		if of != 0 {
			lags = append(lags, g.g.Lag(^int32(node)))
		}
	}
	usual := sketch.Median(lags)
	for node, of := range launches {
		lag := v.Lag(^int32(node))
		switch {
		case of != goes:
		case lag > pause*usual:
			v.Set(^int32(node), lag-usual)
		default:
			v.Set(^int32(node), min(lag, 0))
		}
	}
}

// addBelow selects all below selected rows of hosts, without counting it.
func (g *Graph) addBelow(s *selection) {
	tree := &g.forest.Tree
	var add func(rows []int32)
	add = func(rows []int32) {
		for _, r := range rows {
			s.rows[r] = true
			add(tree.Children(r))
		}
	}
	for r := range g.forest.Rows() {
		if s.rows[r] && !g.isOnDevice(r) && (tree.Parent[r] == trace.NoRow || !s.rows[tree.Parent[r]]) {
			add(tree.Children(r))
		}
	}
}

// addWithin adds the operations of hosts within selected calls, on the thread of the call.
func (g *Graph) addWithin(s *selection) {
	if len(s.calls) == 0 {
		return
	}
	f := g.forest
	var rows []int32
	for r := range f.Rows() {
		if f.Has(r, trace.FlagHost) && g.begin[r] != none {
			rows = append(rows, r)
		}
	}
	order.Rows(rows, f.Start, f.CompareStart)
	for i := range s.calls {
		c := &f.Calls[i]
		at := sort.Search(len(rows), func(i int) bool { return f.Start(rows[i]) >= c.Start })
		for ; at < len(rows) && f.Start(rows[at]) < c.Start+c.Duration; at++ {
			r := rows[at]
			if !c.Thread.Known || f.Names.Threads.Values[f.Thread(r)] == c.Thread.V {
				s.rows[r] = true
			}
		}
	}
}

// addHosts selects the host operators all of whose operations are selected, and those within them, without counting
// them.
func (g *Graph) addHosts(s *selection) {
	f := g.forest
	if !f.HasLaunchers() {
		return
	}
	left := make(map[int32]int) // operations below each operator that are not selected, or -1 without selected ones
	climb := func(r int32, visit func(host int32)) {
		h := f.Launcher(r)
		for depth := 0; h != trace.NoRow && depth < maxDepth; depth++ {
			if !f.Has(h, trace.FlagHost) {
				return
			}
			visit(h)
			h = f.Tree.Parent[h]
		}
	}
	hosts := make(map[int32]bool)
	for _, r := range g.ops() {
		if s.rows[r] {
			climb(r, func(h int32) { hosts[h] = true })
		}
	}
	if len(hosts) == 0 {
		return
	}
	for _, r := range g.ops() {
		if !s.rows[r] {
			climb(r, func(h int32) { left[h]++ })
		}
	}
	for h := range hosts {
		if left[h] > 0 {
			delete(hosts, h)
		}
	}
	for h := range hosts {
		s.rows[h] = true
	}
	g.addBelow(s)
}
