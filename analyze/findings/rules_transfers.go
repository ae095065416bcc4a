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
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
)

// transfersOf finds links between two ranks whose transfers take twice as long as on the median link, and last the
// transfers of all links. known reports whether the replay knows which sends and receives belong together: the waits of a
// receive are no time of a link then.
func (l *list) transfersOf() (all []candidate, known bool) {
	const slower = 2
	type pair struct {
		ranks [2]int64
		ns    []int64
		bytes int64
	}
	if !l.knowsTransfers() {
		return nil, false
	}
	f := l.Forest
	byRanks := make(map[[2]int64]*pair)
	var took []int64
	for _, t := range collective.Transfers(f) {
		ranks := [2]int64{min(t.From, t.To), max(t.From, t.To)}
		p := order.At(byRanks, ranks)
		p.ranks = ranks
		took = append(took, max(0, f.End(t.Receive)-max(f.Start(t.Send), f.Start(t.Receive))))
		p.ns = append(p.ns, took[len(took)-1])
		if i, ok := trace.CollectiveOf(f.Collectives, t.Receive); ok {
			p.bytes = max(p.bytes, f.Collectives[i].Bytes)
		}
	}
	pairs := slices.SortedFunc(maps.Values(byRanks), func(a, b *pair) int {
		return cmp.Or(cmp.Compare(sketch.Median(b.ns), sketch.Median(a.ns)), slices.Compare(a.ranks[:], b.ranks[:]))
	})
	middle := pairs[len(pairs)/2] // of two, the faster one
	usual := sketch.Median(middle.ns)
	var changes []replay.Change
	for _, p := range pairs[:min(len(pairs), maxChanges/2)] {
		if ns := sketch.Median(p.ns); ns >= slower*max(1, usual) && p.bytes <= middle.bytes {
			for i := range p.ranks {
				changes = append(changes, replay.Change{
					Kind: replay.Scale, Select: fmt.Sprintf("peer=%d,rank=%d", p.ranks[i], p.ranks[1-i]),
					Factor: float64(usual) / float64(ns),
				})
			}
		}
	}
	where := Where{Section: "communication"}
	if changes != nil {
		of, ns := pairs[0], sketch.Median(pairs[0].ns)
		slow := says(Operation, where,
			"The link between ranks %d and %d is slow: a transfer takes %s, and %s on the median link.",
			of.ranks[0], of.ranks[1], units.Duration(ns), units.Duration(usual))
		slow.Evidence = []Evidence{
			times("transfers", int64(len(of.ns))), lasts("of this link", ns), lasts("of the median link", usual),
		}
		slow.Try = "find out which way the data take between them (NCCL_DEBUG=INFO, nvidia-smi topo -m)"
		all = append(all, candidate{Finding: slow, changes: changes})
	}
	every := says(Operation, where,
		"Sends and receives between ranks take %s each at the median, once both sides have begun.",
		units.Duration(sketch.Median(took)))
	every.Evidence = []Evidence{times("transfers", int64(len(took))), lasts("each", sketch.Median(took))}
	every.Try = "send while the next microbatch computes, fewer bytes, or over a faster link"
	both := append(change(replay.Scale, "collective=send"), change(replay.Scale, "collective=recv")...)
	return append(all, candidate{Finding: every, changes: both, atMost: true, isGeneral: true}), true
}
