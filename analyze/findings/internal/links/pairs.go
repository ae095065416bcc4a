package links

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/trace"
)

// Pair is the link between two ranks, with the time of each transfer from the later start of both sides on, and the
// most bytes of one.
type Pair struct {
	Ranks [2]int64
	NS    []int64
	Bytes int64
}

// Pairs returns the links of transfers, the slowest one at the median first, and the times of all transfers.
func Pairs(f *trace.Forest, transfers []collective.Transfer) (pairs []*Pair, took []int64) {
	byRanks := make(map[[2]int64]*Pair)
	for _, t := range transfers {
		ranks := [2]int64{min(t.From, t.To), max(t.From, t.To)}
		p := order.At(byRanks, ranks)
		p.Ranks = ranks
		took = append(took, max(0, f.End(t.Receive)-max(f.Start(t.Send), f.Start(t.Receive))))
		p.NS = append(p.NS, took[len(took)-1])
		if i, ok := trace.CollectiveOf(f.Collectives, t.Receive); ok {
			p.Bytes = max(p.Bytes, f.Collectives[i].Bytes)
		}
	}
	pairs = slices.SortedFunc(maps.Values(byRanks), func(a, b *Pair) int {
		return cmp.Or(cmp.Compare(sketch.Median(b.NS), sketch.Median(a.NS)), slices.Compare(a.Ranks[:], b.Ranks[:]))
	})
	return pairs, took
}
