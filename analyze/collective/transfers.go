package collective

import (
	"slices"

	"github.com/optrace/optrace/analyze/trace"
)

// Transfer is a send of one rank to another and its receive.
type Transfer struct {
	From, To      int64 // ranks
	Send, Receive int32 // rows
}

// Transfers returns the transfers with two known sides. The k-th send of a rank to a peer, by start, matches the peer's
// k-th receive from this rank in the same group: libraries keep the order. Sequence numbers do not match, since PyTorch
// counts them by rank. Transfers omits links with unequal numbers of sends and receives.
func Transfers(f *trace.Forest) (all []Transfer) {
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
