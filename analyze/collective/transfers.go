package collective

import (
	"slices"

	"github.com/optrace/optrace/analyze/trace"
)

// Transfer is what one rank sends to another, by the rows of both sides.
type Transfer struct {
	From, To      int64 // ranks
	Send, Receive int32
}

// Transfers returns the transfers whose two sides are known. The k-th send of a rank to a peer, by start, is what the
// peer's k-th receive from this rank in the same group gets, as libraries keep their order. Sequence numbers do not tell:
// PyTorch counts each rank's by itself. Where one side has more than the other, nobody knows which are missing.
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
		l, side := link{rank.V, int64(c.Peer), name.Group}, 0
		switch {
		case c.Peer < 0 || !rank.Known || !c.Started || f.Has(c.Row, trace.FlagRepeat):
			continue
		case IsReceive(name.Name):
			l.from, l.to, side = l.to, l.from, 1
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
		sends, receives := sides[l][0], sides[l][1]
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
