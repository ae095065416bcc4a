package text

import (
	"github.com/optrace/optrace/internal/units"
)

// operators shows the operators on the host and what they launched.
func (v *view) operators() {
	o := v.r.Operators
	if o == nil {
		return
	}
	v.heading("OPERATORS")
	t := newTable(names("operator", 0), figures("calls", 3), figures("device self", 0), figures("share", 0), texts("", 2),
		figures("device total", 0), figures("kernels", 4), figures("host self", 0), figures("host total", 1), figures("device idle", 5),
		figures("memory", 6), figures("flops", 7))
	for i := range o.Rows {
		r := &o.Rows[i]
		share := 0.0
		if v.r.Total.SumNS > 0 {
			share = float64(r.DeviceSelfNS) / float64(v.r.Total.SumNS)
		}
		t.add(r.Operator, nonZero(r.Calls, units.Count), units.Duration(r.DeviceSelfNS), units.Percent(share), bar(share),
			units.Duration(r.DeviceTotalNS), nonZero(r.Kernels, units.Count), knownDuration(r.HostSelfNS), knownDuration(r.HostTotalNS),
			knownDuration(r.DeviceIdleNS), ifKnown(r.MemoryBytes, units.Bytes), ifKnown(r.FLOPs, units.FLOPs))
	}
	v.table(t)
	v.note("device self: the operations of devices that the operator launched; total: with those of the operators inside it; " +
		"device idle: of host total, the time in which nothing ran on a device")
	if u := o.Unattributed; u.Count > 0 {
		v.note(plural(u.Count, "operation") + " of devices, " + units.Duration(u.SumNS) + ", without a known operator")
	}
}
