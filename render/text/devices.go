package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/optrace/optrace/analyze"
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
	v.table(devicesTable(v.r.Devices, ranks))
	if slices.ContainsFunc(v.r.Devices, func(d analyze.Device) bool { return d.Service+d.Host != "" }) {
		v.note("a device of several services or hosts that state no rank is as many devices: the service or host stands before it")
	}
	v.devicesWithout()
	for i := range v.r.Devices {
		if v.r.Devices[i].SpanNS.Known {
			v.note("compute + exposed comm + exposed mem + other + idle = span; overlap is the part of the communication under compute")
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

func devicesTable(devices []analyze.Device, ranks bool) *table {
	t := newTable("<device", "count", "sum", "memory", "span", "busy", "compute", "exposed comm", "exposed mem", "other", "idle",
		"overlap")
	for i := range devices {
		d := &devices[i]
		t.add(deviceLabel(d, ranks), units.Count(d.Count), units.Duration(d.SumNS), units.Bytes(d.MemoryBytes),
			knownDuration(d.SpanNS), part(d.BusyNS, d.SpanNS), part(d.ComputeNS, d.SpanNS),
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

func severalRanks(devices []analyze.Device) bool {
	for i := range devices {
		if devices[i].Rank != devices[0].Rank {
			return true
		}
	}
	return false
}

// deviceLabel is the device, in front of it the rank, or the service and the host,
// where there are several.
func deviceLabel(d *analyze.Device, ranks bool) string {
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
	t := newTable("<device", "sum", "of ideal")
	for _, d := range b.PerDeviceDurationUS {
		of := absent
		if b.IdealDurationUS > 0 {
			of = units.Percent(d.DurationUS / b.IdealDurationUS)
		}
		t.add(deviceName(d.Device), micros(d.DurationUS), of)
	}
	v.table(t)
}

func balanceText(b *analyze.Balance) string {
	return fmt.Sprintf("%d devices, ideal %s each, largest %s: imbalance %s by sums, %s by busy time", b.DeviceCount,
		micros(b.IdealDurationUS), micros(b.MaxDurationUS), units.Percent(b.ImbalanceRatio), knownFloat(b.BusyImbalanceRatio, units.Percent))
}

func micros(us float64) string { return units.DurationFloat(us * 1000) }
