package timeline

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Within returns the number of calls of an operation, a span or a range of the host, and the time of the operations other
// than copies of their rank launched within them, in their traces if they have one.
func Within(f *trace.Forest, h *HostTime) (n, ns int64) {
	if f == nil {
		return 0, 0
	}
	type host struct {
		trace int32
		rank  op.Int
	}
	type times struct{ starts, ends []int64 }
	const anyTrace = -1
	byHost := make(map[host]*times)
	add := func(trace int32, rank op.Int, start, ns int64) {
		n++
		x := order.At(byHost, host{trace, rank})
		x.starts = append(x.starts, start)
		x.ends = append(x.ends, start+ns)
	}
	rankOf := RankOf(f)
	for r := range f.Rows() {
		isKind := f.Has(r, trace.FlagOp) == h.IsOp && !f.IsDeviceSide(r) && f.Has(r, trace.FlagStart)
		if isKind && f.RowName(r) == h.Operation {
			add(f.Trace(r), rankOf(r), f.Start(r), f.Duration(r))
		}
	}
	for i := range f.Calls {
		if c := &f.Calls[i]; c.Name == h.Operation && !h.IsOp {
			add(anyTrace, c.Rank, c.Start, c.Duration)
		}
	}
	for _, x := range byHost {
		slices.Sort(x.starts)
		slices.Sort(x.ends)
	}
	notAfter := func(times []int64, at int64) int64 {
		i, _ := slices.BinarySearch(times, at+1)
		return int64(i)
	}
	for _, r := range f.Devices.ByStart {
		at, rank := f.Start(r), f.DeviceKey(r).Rank
		if f.Has(r, trace.FlagLaunch) {
			at = f.Launch(r)
		}
		for _, k := range [...]host{{f.Trace(r), rank}, {anyTrace, rank}} {
			if x := byHost[k]; x != nil && f.Kind(r) != op.KindMemory {
				ns += f.Duration(r) * (notAfter(x.starts, at) - notAfter(x.ends, at))
			}
		}
	}
	return n, ns
}
