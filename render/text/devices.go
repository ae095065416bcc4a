package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/text/natural"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

func (v *view) devices() {
	if v.empty("DEVICES", len(v.r.Devices) == 0, v.whyNothingRan()) {
		return
	}
	v.first(v.devicesTable(v.Rows), v.Rows, max(0, len(v.r.Devices)-v.Rows))
	if slices.ContainsFunc(v.r.Devices, func(d profile.Device) bool { return d.Service+d.Host != "" }) {
		v.note("a device of several services or hosts that state no rank is as many devices: the service or host " +
			"stands before it")
	}
	if v.legend(); v.hasSpans() {
		idle := "idle"
		if c := v.r.IdleCauses; c != nil && slices.ContainsFunc(c.Devices,
			func(d timeline.IdleDevice) bool { return d.NoRequest.SumNS > 0 }) {
			idle = "idle + no request"
		}
		v.note("compute + exposed comm + exposed mem + other + " + idle + " = span; " +
			"overlap is the part of the communication under compute")
		v.utilisation()
	}
}

func (v *view) hasSpans() bool {
	return slices.ContainsFunc(v.r.Devices, func(d profile.Device) bool { return d.SpanNS.Known })
}

// doubtful reports whether so much work is missing that idle and busy shares are not known.
func (v *view) doubtful() bool { return v.r.Coverage != nil && v.r.Coverage.Doubtful() }

// legend explains the parts of the devices' time.
func (v *view) legend() {
	if v.hasSpans() && !v.doubtful() {
		v.styledNote(dim, "parts: █ compute, ▓ communication, ▒ memory, ░ other, blank idle")
	}
}

// devicesTable has the first devices, in natural order, operations without a device last. Their spans leave out time
// without a running request.
func (v *view) devicesTable(rows int) *table {
	quiet := make(map[device.Key]int64)
	if v.r.IdleCauses != nil {
		for _, d := range v.r.IdleCauses.Devices {
			quiet[d.Key] = d.NoRequest.SumNS
		}
	}
	t := newTable("device:n|count:9|sum:10|memory:11|span|parts:t1|busy:3|compute:5|exposed comm:4|exposed mem:6" +
		"|other:7|idle:2|no request:2|overlap:8")
	devices := slices.Clone(v.r.Devices[:min(len(v.r.Devices), rows)])
	slices.SortStableFunc(devices, func(a, b profile.Device) int {
		switch isNone := a.Key().IsNone(); {
		case isNone == b.Key().IsNone():
			return a.Key().Compare(b.Key())
		case isNone:
			return 1
		}
		return -1
	})
	for i := range devices {
		d := &devices[i]
		none := quiet[d.Key()]
		whole := d.SpanNS.V - none
		idle := d.IdleNS
		idle.V -= none
		if v.doubtful() {
			idle, whole = op.Int{}, 0 // times without shares
		}
		share := func(ns op.Int) string { return known(ns, func(ns int64) string { return part(ns, whole) }) }
		t.add(v.deviceLabel(d), units.Count(d.Count), units.Duration(d.SumNS), nonZero(d.MemoryBytes.V, units.Bytes),
			knownDuration(d.SpanNS),
			partsBar(whole, d.ComputeNS.V, d.ExposedCommunicationNS.V, d.ExposedMemoryNS.V, d.OtherNS.V),
			share(d.BusyNS), share(d.ComputeNS), share(d.ExposedCommunicationNS), share(d.ExposedMemoryNS),
			share(d.OtherNS), share(idle), nonZero(none, units.Duration), knownFloat(d.OverlapRatio, units.Percent))
	}
	return t
}

// deviceLabel returns the device, with its rank, or its service and host, if there are several.
func (v *view) deviceLabel(d *profile.Device) string {
	k := d.Key()
	if k.DeviceID = deviceName(k.DeviceID); k.Named {
		k.DeviceID = strconv.Quote(k.DeviceID) // unlike the row of entries without a device
	}
	return k.Label(v.ranks)
}

// deviceName returns a device's id, quotes for an empty one.
func deviceName(id string) string { return cmp.Or(id, `""`) }

func (v *view) utilisation() {
	u := v.r.Utilisation
	if u == nil || len(u.Devices) == 0 || u.WidthNS <= 0 {
		return
	}
	buckets := 0
	for _, d := range u.Devices {
		buckets = max(buckets, len(d.BusyNS))
	}
	together := v.together(buckets, leastName)
	columns := "device:n|busy over time, " + units.Duration(u.WidthNS*int64(together)) + " a column:t"
	show(&v.page, columns, u.Devices, func(t *table, d *timeline.DeviceUtilisation) {
		t.add(d.Label(v.ranks), strip(d.BusyNS, u.WidthNS, together))
	})
}

func (v *view) balance() {
	b := v.r.LoadBalance
	if v.empty("LOAD BALANCE", b == nil, "nothing to balance: fewer than two devices") {
		return
	}
	v.note(fmt.Sprintf("%d devices, ideal %s each, largest %s: imbalance %s by sums, %s by busy time", b.DeviceCount,
		micros(b.IdealDurationUS), micros(b.MaxDurationUS), units.Percent(b.ImbalanceRatio),
		knownFloat(b.BusyImbalanceRatio, units.Percent)))
	devices := slices.Clone(b.PerDeviceDurationUS)
	slices.SortStableFunc(devices, func(a, b seed.DeviceDuration) int { return natural.Compare(a.Device, b.Device) })
	show(&v.page, "device:n|sum|of ideal|of largest:t1", devices, func(t *table, d *seed.DeviceDuration) {
		of := absent
		drawn := ""
		if b.IdealDurationUS > 0 {
			of = units.Percent(d.DurationUS / b.IdealDurationUS)
			drawn = bar(d.DurationUS / b.MaxDurationUS)
		}
		t.add(deviceName(d.Device), micros(d.DurationUS), of, drawn)
	})
}
