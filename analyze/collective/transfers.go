package collective

import (
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Transfer is a send of one rank to another and its receive.
type Transfer struct {
	From, To      int64 // ranks
	Send, Receive int32 // rows
}

// Transfers returns the transfers with two known sides. The k-th send of a rank to a peer, by start, matches the peer's
// k-th receive from this rank in the same group: libraries keep the order. Sequence numbers do not match, since PyTorch
// counts them by rank. Transfers omits links with unequal numbers of sends and receives.
func Transfers(f *trace.Forest) []Transfer { return trace.Found(f, findTransfers) }

func findTransfers(f *trace.Forest) (all []Transfer) {
	type link struct {
		from, to int64
		group    string
	}
	sides := make(map[link]*[2][]int32)
	var links []link
	for i := range f.Collectives {
		c := &f.Collectives[i]
		name := f.Names.Collectives.Values[c.Name]
		rank := f.DeviceKey(c.Row).Rank
		l := link{rank.V, int64(c.Peer), name.Group}
		side := 0
		switch {
		case c.Peer < 0 || !rank.Known || !c.Started || f.Has(c.Row, trace.FlagRepeat):
			continue
		case IsReceive(name.Name):
			l.from, l.to = l.to, l.from
			side = 1
		case !IsSend(name.Name):
			continue
		}
		if sides[l] == nil {
			sides[l] = new([2][]int32)
			links = append(links, l)
		}
		sides[l][side] = append(sides[l][side], c.Row)
	}
	for _, l := range links {
		sends := sides[l][0]
		receives := sides[l][1]
		slices.SortStableFunc(sends, f.CompareStart)
		slices.SortStableFunc(receives, f.CompareStart)
		for i := range sends {
			if len(sends) == len(receives) {
				all = append(all, Transfer{l.from, l.to, sends[i], receives[i]})
			}
		}
	}
	return all
}

// Pipelines returns the number of stages of pipelines and how often a stage hands something to the next. The ranks of
// pipelines are chains of equal length, each with transfers to at most two others. Both are 0 for other transfers.
func Pipelines(all []Transfer) (stages, each int64) {
	links := make(map[[2]int64]bool)
	beside := make(map[int64]int) // ranks that have transfers with a rank
	pairs := 0
	for _, t := range all {
		if !links[[2]int64{t.From, t.To}] && !links[[2]int64{t.To, t.From}] {
			pairs++
			beside[t.From]++
			beside[t.To]++
		}
		links[[2]int64{t.From, t.To}] = true
	}
	chains := len(beside) - pairs // a ring has as many pairs as ranks
	if chains <= 0 || len(beside)%chains != 0 || slices.Max(slices.Collect(maps.Values(beside))) > 2 {
		return 0, 0
	}
	return int64(len(beside) / chains), int64(len(all) / len(links))
}

// Needed returns the part of the collectives with computing right before and behind them, and none beside: what follows
// needs the data of each, as within a layer of tensor parallelism.
func Needed(f *trace.Forest) float64 {
	var needed, all float64
	for _, rows := range f.Devices.All() {
		for i, r := range rows {
			if f.Kind(r) != op.KindCollective {
				continue
			}
			if all++; i > 0 && i+1 < len(rows) && f.Kind(rows[i-1]) == op.KindCompute && f.Kind(rows[i+1]) == op.KindCompute &&
				f.End(rows[i-1]) <= f.Start(r) && f.End(r) <= f.Start(rows[i+1]) {
				needed++
			}
		}
	}
	return needed / max(1, all)
}
