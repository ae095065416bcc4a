package executions

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
)

// Calls are calls of one service by another: NS is their time outside of the called span, there and back, and ThereNS the
// time there.
type Calls struct {
	From, To           string
	Count, NS, ThereNS int64
}

// BetweenServices returns the calls of services, most time first. A call is a span with nothing below it but one span of
// another service. Services whose clocks differ are left out.
func BetweenServices(f *trace.Forest) []Calls {
	if f == nil {
		return nil
	}
	type pair struct{ from, to string }
	all := make(map[pair]*Calls)
	isApart := make(map[pair]bool)
	for r := range f.Rows() {
		p := f.Tree.Parent[r]
		if p == trace.NoRow || f.Has(r, trace.FlagOp) || f.Has(p, trace.FlagOp) || len(f.Tree.Children(p)) != 1 ||
			!f.Has(r, trace.FlagStart) || !f.Has(p, trace.FlagStart) {
			continue
		}
		of := pair{f.Node(p).Service(), f.Node(r).Service()}
		if of.from == "" || of.to == "" || of.from == of.to {
			continue
		}
		if f.Start(r) < f.Start(p) || f.End(r) > f.End(p) {
			isApart[of] = true
			continue
		}
		c := all[of]
		if c == nil {
			c = &Calls{From: of.from, To: of.to}
			all[of] = c
		}
		c.Count++
		c.NS += f.Duration(p) - f.Duration(r)
		c.ThereNS += f.Start(r) - f.Start(p)
	}
	maps.DeleteFunc(all, func(of pair, _ *Calls) bool { return isApart[of] })
	list := make([]Calls, 0, len(all))
	for _, c := range all {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Calls) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return list
}
