package findings

import (
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// longPause is the least idle time in a call that is a pause by itself.
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
		for k := range l.Forest.Calls {
			if l.Forest.Calls[k].Name == name {
				n++
			}
		}
		names[name] = 2*n*c.Longest.HostNS >= c.TimeNS
	}
	return names
}

// within returns the number of calls of an operation or a span of the host, and the time of the operations other than
// copies launched within them in their traces.
func (l *list) within(h *timeline.HostTime) (n, computed int64) {
	f := l.Forest
	if f == nil {
		return 0, 0
	}
	byTrace := make(map[int32][]int32)
	for r := range f.Rows() {
		isKind := f.Has(r, trace.FlagOp) == h.IsOp && !f.IsDeviceSide(r) && f.Has(r, trace.FlagStart)
		if isKind && f.RowName(r) == h.Operation {
			n++
			byTrace[f.Trace(r)] = append(byTrace[f.Trace(r)], r)
		}
	}
	for _, r := range f.Devices.ByStart {
		at := f.Start(r)
		if f.Has(r, trace.FlagLaunch) {
			at = f.Launch(r)
		}
		for _, x := range byTrace[f.Trace(r)] {
			if f.Start(x) <= at && at < f.End(x) && f.Kind(r) != op.KindMemory {
				computed += f.Duration(r)
			}
		}
	}
	return n, computed
}
