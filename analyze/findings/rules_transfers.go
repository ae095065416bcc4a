package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/internal/text/units"
)

// pair is the link between two ranks: its transfers' times and bytes, without what one side waited for the other.
type pair struct {
	ranks    [2]int64
	ns, size []int64
}

// transfersOf finds links between two ranks whose transfers take twice as long as those of the median link for no more
// bytes, or else the transfers of all links. known reports whether the recording says which sends and receives belong
// together. The waits of a receive are no time of a link: the replay knows what the other side did meanwhile.
func (l *list) transfersOf() (all []candidate, known bool) {
	const (
		slower = 2
		equal  = 1.25 // a rounding of sizes, such as of uneven batches
	)
	if l.Forest == nil {
		return nil, false
	}
	byRanks := make(map[[2]int64]*pair)
	var took []int64
	for _, t := range collective.Transfers(l.Forest) {
		ns, bytes := t.Took(l.Forest)
		ranks := [2]int64{min(t.From, t.To), max(t.From, t.To)}
		p := order.At(byRanks, ranks)
		p.ranks, p.ns, p.size = ranks, append(p.ns, ns), append(p.size, bytes)
		took = append(took, ns)
	}
	if len(took) == 0 {
		return nil, false
	}
	pairs := slices.SortedFunc(maps.Values(byRanks), func(a, b *pair) int {
		return cmp.Or(cmp.Compare(sketch.Median(b.ns), sketch.Median(a.ns)), slices.Compare(a.ranks[:], b.ranks[:]))
	})
	usual := pairs[len(pairs)/2] // of two, the faster one
	var changes []replay.Change
	for _, p := range pairs {
		factor := float64(sketch.Median(usual.ns)) / max(1, float64(sketch.Median(p.ns)))
		if slower*factor > 1 || float64(sketch.Median(p.size)) > equal*float64(sketch.Median(usual.size)) || len(changes) == maxChanges {
			continue
		}
		for i := range p.ranks {
			changes = append(changes, replay.Change{
				Kind: replay.Scale, Select: fmt.Sprintf("peer=%d,rank=%d", p.ranks[i], p.ranks[1-i]), Factor: factor,
			})
		}
	}
	where := Where{Section: "communication"}
	if changes != nil {
		of := pairs[0]
		f := says(Operation, where, "The link between ranks %d and %d is slow: a transfer takes %s, and %s on the median link.",
			of.ranks[0], of.ranks[1], units.Duration(sketch.Median(of.ns)), units.Duration(sketch.Median(usual.ns)))
		f.Evidence = []Evidence{times("transfers", int64(len(of.ns))), lasts("of this link", sketch.Median(of.ns)), lasts("of the median link", sketch.Median(usual.ns))}
		f.Try = "find out which way the data take between them (NCCL_DEBUG=INFO, nvidia-smi topo -m)"
		all = append(all, candidate{Finding: f, changes: changes})
	}
	f := says(Operation, where, "Sends and receives between ranks take %s each at the median, once both sides have begun.",
		units.Duration(sketch.Median(took)))
	f.Evidence = []Evidence{times("transfers", int64(len(took))), lasts("each", sketch.Median(took))}
	f.Try = "send while the next microbatch computes, fewer bytes, or over a faster link"
	every := append(change(replay.Scale, "collective=send"), change(replay.Scale, "collective=recv")...)
	return append(all, candidate{Finding: f, changes: every, atMost: true, isGeneral: true}), true
}
