package replay

import (
	"sort"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// remove takes out operations, the calls that launched them, and host operators that launched nothing else.
func (g *Graph) remove(s *selection, v *variant) {
	g.addHosts(s)
	g.addWithin(s)
	for e := range g.g.owned(s.has) {
		lag := min(v.Lag(e.index), 0)
		if e.owner >= 0 && e.kind == afterWait {
			lag = dropped
		}
		v.Set(e.index, lag)
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
	for r := range f.Rows() { // operators below
		p := f.Tree.Parent[r]
		if p != trace.NoRow && hosts[p] && f.Has(r, trace.FlagHost) && left[r] == 0 {
			hosts[r] = true
		}
	}
	for h := range hosts {
		s.rows[h] = true
	}
}
