package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/internal/natural"
	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
)

// devices shows for each device the parts that its span is made of.
func (v *view) devices() {
	v.heading("DEVICES")
	if len(v.r.Devices) == 0 {
		v.note(v.whyNothingRan())
		return
	}
	ranks := severalRanks(v.r.Devices)
	v.first(devicesTable(v.r.Devices, v.rows, ranks), v.rows, max(0, len(v.r.Devices)-v.rows))
	if slices.ContainsFunc(v.r.Devices, func(d profile.Device) bool { return d.Service+d.Host != "" }) {
		v.note("a device of several services or hosts that state no rank is as many devices: the service or host stands before it")
	}
	v.devicesWithout()
	for i := range v.r.Devices {
		if v.r.Devices[i].SpanNS.Known {
			v.note("compute █ + exposed comm ▓ + exposed mem ▒ + other ░ + idle = span; " +
				"overlap is the part of the communication under compute")
			v.utilisation()
			return
		}
	}
}

// whyNothingRan says why there are no operations but, perhaps, those of the
// host's side.
func (v *view) whyNothingRan() string {
	if len(v.r.Operations) > 0 {
		return "no operations of a device: all are the host's view"
	}
	return "no operations in the input"
}

// devicesTable has the first of the devices, in the order in which people list
// them; that of operations without a device is the last.
func devicesTable(devices []profile.Device, rows int, ranks bool) *table {
	t := newTable(names("device", 0), figures("count", 9), figures("sum", 10), figures("memory", 11), figures("span", 0), texts("parts", 1),
		figures("busy", 3), figures("compute", 5), figures("exposed comm", 4), figures("exposed mem", 6), figures("other", 7), figures("idle", 2),
		figures("overlap", 8))
	devices = slices.Clone(devices[:min(len(devices), rows)])
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
		t.add(deviceLabel(d, ranks), units.Count(d.Count), units.Duration(d.SumNS), units.Bytes(d.MemoryBytes),
			knownDuration(d.SpanNS),
			partsBar(d.SpanNS.V, d.ComputeNS.V, d.ExposedCommunicationNS.V, d.ExposedMemoryNS.V, d.OtherNS.V),
			part(d.BusyNS, d.SpanNS), part(d.ComputeNS, d.SpanNS),
			part(d.ExposedCommunicationNS, d.SpanNS), part(d.ExposedMemoryNS, d.SpanNS), part(d.OtherNS, d.SpanNS),
			part(d.IdleNS, d.SpanNS), knownFloat(d.OverlapRatio, units.Percent))
	}
	return t
}

// part writes a part of a device's span with its share.
func part(ns, span op.Int) string {
	if !ns.Known || span.V == 0 {
		return knownDuration(ns)
	}
	return fmt.Sprintf("%s (%.0f %%)", units.Duration(ns.V), float64(ns.V)/float64(span.V)*100)
}

func severalRanks(devices []profile.Device) bool {
	for i := range devices {
		if devices[i].Rank != devices[0].Rank {
			return true
		}
	}
	return false
}

// deviceLabel is the device, in front of it the rank, or the service and the host,
// where there are several.
func deviceLabel(d *profile.Device, ranks bool) string {
	label := deviceName(d.DeviceID)
	if d.Named {
		label = strconv.Quote(d.DeviceID) // unlike the row of entries without a device
	}
	if ranks && d.Rank.Known {
		label = d.Rank.String() + "/" + label
	}
	for _, source := range []string{d.Host, d.Service} {
		if source != "" {
			label = source + " " + label
		}
	}
	return label
}

// deviceName is a device's id, quotes for an empty one.
func deviceName(id string) string { return cmp.Or(id, `""`) }

func (v *view) balance() {
	b := v.r.LoadBalance
	v.heading("LOAD BALANCE")
	if b == nil {
		v.note("nothing to balance: fewer than two devices")
		return
	}
	v.note(balanceText(b))
	if w := v.r.WithoutSuspects; w != nil && w.LoadBalance != nil && balanceText(w.LoadBalance) != balanceText(b) {
		v.note("without suspect times: " + balanceText(w.LoadBalance))
	}
	t := newTable(names("device", 0), figures("sum", 0), figures("of ideal", 0), texts("of largest", 1))
	devices := slices.Clone(b.PerDeviceDurationUS)
	slices.SortStableFunc(devices, func(a, b seed.DeviceDuration) int { return natural.Compare(a.Device, b.Device) })
	for _, d := range devices {
		of, drawn := absent, ""
		if b.IdealDurationUS > 0 {
			of, drawn = units.Percent(d.DurationUS/b.IdealDurationUS), bar(d.DurationUS/b.MaxDurationUS)
		}
		t.add(deviceName(d.Device), micros(d.DurationUS), of, drawn)
	}
	v.table(t)
}

func balanceText(b *profile.Balance) string {
	return fmt.Sprintf("%d devices, ideal %s each, largest %s: imbalance %s by sums, %s by busy time", b.DeviceCount,
		micros(b.IdealDurationUS), micros(b.MaxDurationUS), units.Percent(b.ImbalanceRatio), knownFloat(b.BusyImbalanceRatio, units.Percent))
}

func micros(us float64) string { return units.DurationFloat(us * 1000) }
