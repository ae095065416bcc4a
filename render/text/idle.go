package text

import (
	"github.com/optrace/optrace/internal/units"
)

// idle shows why devices had nothing to do, and the longest times of it.
func (v *view) idle() {
	causes := v.r.IdleCauses
	if causes == nil {
		return
	}
	v.heading("IDLE")
	if len(causes.Devices) == 0 {
		v.note("no gaps: " + v.whyNoGaps())
		return
	}
	t := newTable(names("device", 0), figures("host", 0), figures("gaps", 1), figures("queue", 0), figures("gaps", 1), figures("other", 0),
		figures("gaps", 1), figures("no request", 0), figures("gaps", 1))
	for _, d := range causes.Devices {
		t.add(d.Label(v.ranks), units.Duration(d.Host.SumNS), units.Count(d.Host.Count),
			units.Duration(d.Queue.SumNS), units.Count(d.Queue.Count), units.Duration(d.Other.SumNS), units.Count(d.Other.Count),
			nonZero(d.NoRequest.SumNS, units.Duration), nonZero(d.NoRequest.Count, units.Count))
	}
	v.table(t)
	v.note("host: the next operation was launched after the gap began; queue: it was waiting, for less than " +
		units.Duration(causes.ThresholdNS) + "; other: anything else, or no launch is known")
	if len(v.r.Idle) == 0 {
		return
	}
	t = newTable(names("longest on", 0), figures("duration", 0), texts("cause", 0), names("after", 1), names("before", 2))
	for _, g := range v.r.Idle {
		t.add(g.Label(v.ranks), units.Duration(g.DurationNS), string(g.Cause), g.After, g.Before)
	}
	v.table(t)
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
