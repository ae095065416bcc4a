package findings

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// longPause is the least idle time of a pause in a single call.
const longPause = 1_000_000 // ns

// ranges returns the names of ranges and calls of the host beside operations in which a device is idle once for long,
// as in a checkpoint, unless another rule has them. In others, such as a backward pass, the operations within them cause
// the idle time.
func (l *list) ranges() map[string]bool {
	names := make(map[string]bool)
	for i := range l.Extent.Calls {
		c := &l.Extent.Calls[i]
		name := c.Operation
		if l.Forest == nil || c.Longest.HostNS < longPause || attrkey.IsWait(name) || attrkey.IsStreamWait(name) ||
			attrkey.IsAllocation(name) || attrkey.IsInput(name) {
			continue
		}
		n := int64(0)
		byRank := make(map[op.Int]*within)
		for k := range l.Forest.Calls {
			if call := &l.Forest.Calls[k]; call.Name == name {
				n++
				order.At(byRank, call.Rank).add(call.Start, call.Start+call.Duration)
			}
		}
		rankOf := func(r int32) op.Int { return l.Forest.DeviceKey(r).Rank }
		names[name] = 2*n*c.Longest.HostNS >= c.TimeNS || computed(l.Forest, byRank, rankOf) == 0
	}
	return names
}

// within returns the number of calls of an operation or a span of the host, and the time of the operations other than
// copies of their rank launched within them in their traces.
func (l *list) within(h *timeline.HostTime) (n, ns int64) {
	f := l.Forest
	if f == nil {
		return 0, 0
	}
	type host struct {
		trace int32
		rank  op.Int
	}
	byHost := make(map[host]*within)
	rankOf := timeline.RankOf(f)
	for r := range f.Rows() {
		isKind := f.Has(r, trace.FlagOp) == h.IsOp && !f.IsDeviceSide(r) && f.Has(r, trace.FlagStart)
		if isKind && f.RowName(r) == h.Operation {
			n++
			order.At(byHost, host{f.Trace(r), rankOf(r)}).add(f.Start(r), f.End(r))
		}
	}
	return n, computed(f, byHost, func(r int32) host { return host{f.Trace(r), f.DeviceKey(r).Rank} })
}

// within has the starts and ends of calls.
type within struct{ starts, ends []int64 }

func (w *within) add(start, end int64) {
	w.starts = append(w.starts, start)
	w.ends = append(w.ends, end)
}

// computed returns the time of the operations launched within calls of their host, without copies.
func computed[H comparable](f *trace.Forest, byHost map[H]*within, hostOf func(r int32) H) (ns int64) {
	for _, of := range byHost {
		slices.Sort(of.starts)
		slices.Sort(of.ends)
	}
	notAfter := func(times []int64, at int64) int64 {
		i, _ := slices.BinarySearch(times, at+1)
		return int64(i)
	}
	for _, r := range f.Devices.ByStart {
		at := f.Start(r)
		if f.Has(r, trace.FlagLaunch) {
			at = f.Launch(r)
		}
		if of := byHost[hostOf(r)]; of != nil && f.Kind(r) != op.KindMemory {
			ns += f.Duration(r) * (notAfter(of.starts, at) - notAfter(of.ends, at))
		}
	}
	return ns
}
