package text

import (
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/units"
)

// idle shows why devices had nothing to do, and the longest times of it.
func (v *view) idle() {
	causes := v.r.IdleCauses
	if causes == nil {
		return
	}
	if v.empty("IDLE", len(causes.Devices) == 0, "no gaps: "+v.whyNoGaps()) {
		return
	}
	const columns = "device:n|host|gaps:1|queue|gaps:1|other|gaps:1|no request|gaps:1"
	show(&v.page, columns, causes.Devices, func(t *table, d *timeline.IdleDevice) {
		t.add(d.Label(v.ranks), units.Duration(d.Host.SumNS), units.Count(d.Host.Count),
			units.Duration(d.Queue.SumNS), units.Count(d.Queue.Count), units.Duration(d.Other.SumNS), units.Count(d.Other.Count),
			nonZero(d.NoRequest.SumNS, units.Duration), nonZero(d.NoRequest.Count, units.Count))
	})
	v.note("host: the next operation was launched after the gap began; queue: it was waiting, for less than " +
		units.Duration(causes.ThresholdNS) + "; other: anything else, or no launch is known")
	if len(v.r.Idle) == 0 {
		return
	}
	show(&v.page, "longest on:n|duration|cause:t|after:n1|before:n2", v.r.Idle, func(t *table, g *timeline.IdleGap) {
		t.add(g.Label(v.ranks), units.Duration(g.DurationNS), string(g.Cause), g.After, g.Before)
	})
}

// whyNoGaps says why no device idled.
func (v *view) whyNoGaps() string {
	text := "every device was busy from its first operation to its last"
	switch {
	case v.r.Total.Count == 0:
		return v.whyNothingRan()
	case !v.r.Total.WallNS.Known:
		return "no operation has a start time"
	case v.r.WithoutSuspects != nil:
		text += ", suspect times included"
	}
	return text
}
