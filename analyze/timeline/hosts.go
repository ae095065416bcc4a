package timeline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// hosts walks the activity of the hosts, one rank at a time.
type hosts struct {
	forest      *trace.Forest
	first, last int64              // of all rows, the devices' included
	ranked      map[op.Int][]int32 // host rows by rank; all rows under the unknown rank
	did         map[op.Int][]int32 // host rows and calls by start; calls are complements of their numbers
	left        []int32            // rows and calls of the current host that start later
	open        [2][]int32         // started rows and calls, some of them ended
}

// newHosts finds the host rows of f, except the requests with spans below them if owners has the request of each row.
func newHosts(f *trace.Forest, owners []int32) hosts {
	h := hosts{
		forest: f, ranked: make(map[op.Int][]int32), did: make(map[op.Int][]int32),
		first: trace.MaxTime, last: -trace.MaxTime,
	}
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagStart) || f.Has(r, trace.FlagRepeat) {
			continue
		}
		h.first, h.last = min(h.first, f.Start(r)), max(h.last, f.End(r))
		if f.IsDeviceSide(r) || f.Duration(r) == 0 || owners != nil && owners[r] == r && len(f.Tree.Children(r)) > 0 {
			continue
		}
		h.ranked[op.Int{}] = append(h.ranked[op.Int{}], r)
		if f.Has(r, trace.FlagOp) && f.DeviceKey(r).Rank.Known {
			rank := f.DeviceKey(r).Rank
			h.ranked[rank] = append(h.ranked[rank], r)
		}
	}
	return h
}

// enter starts the host of a rank from the beginning.
func (h *hosts) enter(rank op.Int) {
	if len(h.ranked[rank]) == 0 && len(h.forest.Calls) == 0 {
		rank = op.Int{} // one list for all such ranks
	}
	did, ok := h.did[rank]
	if !ok {
		did = h.hostOf(rank)
		h.did[rank] = did
	}
	h.left = did
	h.open = [2][]int32{}
}

func (h *hosts) times(i int32) (start, end int64) {
	if i < 0 {
		c := &h.forest.Calls[^i]
		return c.Start, c.Start + c.Duration
	}
	return h.forest.Start(i), h.forest.End(i)
}

// compareTied orders rows and calls with equal starts, last end first.
func (h *hosts) compareTied(a, b int32) int {
	if (a < 0) != (b < 0) {
		return cmp.Compare(a, b)
	}
	if a >= 0 {
		return cmp.Or(cmp.Compare(h.forest.End(b), h.forest.End(a)), h.forest.CompareStart(a, b))
	}
	x := &h.forest.Calls[^a]
	y := &h.forest.Calls[^b]
	return cmp.Or(cmp.Compare(y.Duration, x.Duration), strings.Compare(x.Name, y.Name), cmp.Compare(x.Rank.V, y.Rank.V))
}

// hostOf returns the rows and calls of a rank's host by start. A rank without rows gets the rows of all ranks.
func (h *hosts) hostOf(rank op.Int) []int32 {
	did := slices.Clone(h.ranked[rank])
	if len(did) == 0 {
		did = slices.Clone(h.ranked[op.Int{}])
	}
	for i := range h.forest.Calls {
		if c := &h.forest.Calls[i]; !c.Inside && (c.Rank == rank || rank == (op.Int{})) {
			did = append(did, ^int32(i))
		}
	}
	order.Rows(did, func(i int32) int64 {
		start, _ := h.times(i)
		return start
	}, h.compareTied)
	return did
}

// innermost returns the host row that started last of those running at a time, or else the call, and the time up to
// which this holds, at most limit. Successive calls must have ascending times.
func (h *hosts) innermost(at, limit int64) (i int32, until int64, ok bool) {
	for ; len(h.left) > 0; h.left = h.left[1:] {
		start, end := h.times(h.left[0])
		if start > at {
			limit = min(limit, start)
			break
		}
		if open := &h.open[uint32(h.left[0])>>31]; end > at {
			*open = append(*open, h.left[0])
		}
	}
	for k := range h.open {
		for n, i := range slices.Backward(h.open[k]) {
			if _, end := h.times(i); end > at {
				return i, min(end, limit), true
			}
			h.open[k] = h.open[k][:n]
		}
	}
	return 0, limit, false
}
