package executions

import (
	"cmp"
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Calls are calls of one service by another: NS is their time outside of the called span, there and back, and ThereNS the
// time there. Of calls at the same time, only the last to end counts, without it up to the end of the next one.
type Calls struct {
	From, To           string
	Count, NS, ThereNS int64
}

// pair names the services of a call.
type pair struct{ from, to string }

// call is a call of another service: its span and the called one. out is its time outside of the called span, and there the
// part before that.
type call struct {
	pair
	parent, span, called   int32
	start, end, out, there int64
}

// callsOf returns the calls of f by the span above, then by start, and whether the clocks of their services differ. A call is a
// span with nothing below it but one span of another service.
func callsOf(f *trace.Forest) (calls []call, isApart map[pair]bool) {
	isApart = make(map[pair]bool)
	if f == nil {
		return nil, isApart
	}
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
		isApart[of] = isApart[of] || f.Start(r) < f.Start(p) || f.End(r) > f.End(p)
		above := f.Tree.Parent[p]
		if above == trace.NoRow {
			above = p
		}
		calls = append(calls, call{of, above, p, r, f.Start(p), f.End(p), f.Duration(p) - f.Duration(r), f.Start(r) - f.Start(p)})
	}
	slices.SortFunc(calls, func(a, b call) int {
		return cmp.Or(cmp.Compare(a.parent, b.parent), cmp.Compare(a.start, b.start))
	})
	return calls, isApart
}

// together yields the calls at the same time below one span, and the last of them to end.
func together(calls []call) iter.Seq2[[]call, *call] {
	return func(yield func([]call, *call) bool) {
		for len(calls) > 0 {
			n, last := 1, &calls[0]
			for ; n < len(calls) && calls[n].parent == last.parent && calls[n].start < last.end; n++ {
				if calls[n].end > last.end {
					last = &calls[n]
				}
			}
			if !yield(calls[:n], last) {
				return
			}
			calls = calls[n:]
		}
	}
}

// BetweenServices returns the calls of services, most time first. Services whose clocks differ are left out.
func BetweenServices(f *trace.Forest) []Calls {
	all := make(map[pair]*Calls)
	for last, ways := range between(f) {
		c := order.At(all, last.pair)
		c.From, c.To = last.from, last.to
		c.Count++
		c.NS += ways[0]
		c.ThereNS += ways[1]
	}
	list := make([]Calls, 0, len(all))
	for _, c := range all {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Calls) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return list
}

// WaysThere returns the time on the way there of the calls of services, by the name of the calling span.
func WaysThere(f *trace.Forest) map[string]int64 {
	ns := make(map[string]int64)
	for last, ways := range between(f) {
		ns[f.RowName(last.span)] += ways[1]
	}
	return ns
}

// between yields the last of calls at the same time, with the time on both ways and that there. Services whose clocks differ
// are left out.
func between(f *trace.Forest) iter.Seq2[*call, [2]int64] {
	return func(yield func(*call, [2]int64) bool) {
		calls, isApart := callsOf(f)
		calls = slices.DeleteFunc(calls, func(c call) bool { return isApart[c.pair] })
		for group, last := range together(calls) {
			ways := [2]int64{last.out, last.there}
			for _, c := range group {
				ways[0] = min(ways[0], last.end-c.end+c.out)
				ways[1] = min(ways[1], last.end-c.end+c.there)
			}
			if !yield(last, ways) {
				return
			}
		}
	}
}
