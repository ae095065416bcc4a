package collective

import (
	"slices"

	"github.com/optrace/optrace/analyze/trace"
)

// Transfer is what one rank sends to another, by the rows of both sides.
type Transfer struct {
	Link
	Send, Receive int32
}

// Link leads from the rank that sends to the one that receives.
type Link struct{ From, To int64 }

// Transfers returns the transfers whose two sides are known. The k-th send of a rank to a peer, by start, is what the
// peer's k-th receive from this rank in the same group gets, as libraries keep their order. Sequence numbers do not tell:
// PyTorch counts those of each rank by itself. Where one side has more than the other, nobody knows which are missing.
func Transfers(f *trace.Forest) (all []Transfer) {
	type between struct {
		Link
		group string
	}
	sides := make(map[between]*[2][]int32)
	var order []between
	for i := range f.Collectives {
		c := &f.Collectives[i]
		name := f.Names.Collectives.Values[c.Name]
		isSend := IsSend(name.Name)
		rank := f.DeviceKey(c.Row).Rank
		if c.Peer < 0 || !rank.Known || !c.Started || f.Has(c.Row, trace.FlagRepeat) || !isSend && !IsReceive(name.Name) {
			continue
		}
		k, side := between{Link{rank.V, int64(c.Peer)}, name.Group}, 0
		if !isSend {
			k.Link, side = Link{k.To, k.From}, 1
		}
		if sides[k] == nil {
			sides[k] = new([2][]int32)
			order = append(order, k)
		}
		sides[k][side] = append(sides[k][side], c.Row)
	}
	for _, k := range order {
		sends, receives := sides[k][0], sides[k][1]
		if len(sends) != len(receives) {
			continue
		}
		slices.SortStableFunc(sends, f.CompareStart)
		slices.SortStableFunc(receives, f.CompareStart)
		for i := range sends {
			all = append(all, Transfer{k.Link, sends[i], receives[i]})
		}
	}
	return all
}

// Took returns the time of t once both sides have started, and its bytes, 0 if they are not known.
func (t *Transfer) Took(f *trace.Forest) (ns, bytes int64) {
	if i, ok := trace.CollectiveOf(f.Collectives, t.Receive); ok {
		bytes = f.Collectives[i].Bytes
	}
	return max(0, f.End(t.Receive)-max(f.Start(t.Send), f.Start(t.Receive))), bytes
}
