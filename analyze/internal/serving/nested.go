package serving

import (
	"cmp"
	"math"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Nested has the request around each request of another process, or none, and the requests within each, by start.
type Nested struct {
	Outer  map[int32]int32
	Inner  map[int32][]int32
	forest *trace.Forest
}

// NewNested finds the requests within others, by root. begin has a point for each row that is replayed.
func NewNested(rows *Rows, roots, begin []int32) *Nested {
	f := rows.Forest
	n := &Nested{make(map[int32]int32), make(map[int32][]int32), f}
	for _, r := range roots {
		n.Outer[r] = none
		p := f.Tree.Parent[r]
		if p == trace.NoRow {
			continue
		}
		if of := rows.Owner[p]; of != trace.NoRow && of != r && int(of) < len(begin) && begin[of] != none {
			n.Outer[r] = of
			n.Inner[of] = append(n.Inner[of], r)
		}
	}
	for _, list := range n.Inner {
		order.Rows(list, f.Start, cmp.Compare[int32])
	}
	return n
}

// Around returns the predicted time of a request around others: what engines save of these beyond the changed run goes off,
// of several at a time the most. One that was given up saves nothing, unless it now ends in time: then no other one follows.
// took returns the time of a request by its engine, if it has one, and in the changed run.
func (n *Nested) Around(r int32, took func(r int32) (ns, changed int64, isFormed bool)) int64 {
	f := n.forest
	_, all, _ := took(r)
	until, most := int64(math.MinInt64), int64(0)
	whole := all
	for i, c := range n.Inner[r] {
		ns, changed, isFormed := took(c)
		if !isFormed {
			ns = n.Around(c, took)
		}
		if client := f.Tree.Parent[c]; n.isGivenUp(r, i) {
			if ns > f.End(client)-f.Start(c) {
				continue
			}
			last := n.Inner[r][len(n.Inner[r])-1]
			rest := f.End(r) - max(f.End(client), min(f.End(r), f.End(last)))
			return max(0, f.Start(c)-f.Start(r)-(whole-all)-most+max(0, ns)+rest)
		}
		more := changed - max(0, ns)
		if f.Start(c) >= until {
			all -= most
			most = more
		} else if max(more, -more) > max(most, -most) {
			most = more
		}
		until = max(until, f.End(c))
	}
	return max(0, all-most)
}

// isGivenUp reports whether the span around a request within another one ends before it, and another request follows.
func (n *Nested) isGivenUp(r int32, i int) bool {
	f, inner := n.forest, n.Inner[r]
	client := f.Tree.Parent[inner[i]]
	return client != r && i+1 < len(inner) && f.End(client) < f.End(inner[i]) && f.Start(inner[i+1]) >= f.End(client)
}
