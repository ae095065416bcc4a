package text

import (
	"fmt"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/internal/units"
)

// maxWithout bounds the rows that are shown a second time, without suspect times.
const maxWithout = 10

// without says in the envelope what changes without the operations whose times cannot be right.
func (v *view) without() {
	w := v.r.WithoutSuspects
	if w == nil {
		return
	}
	if w.Total.Count == 0 {
		v.field("without", "suspect times: no operation is left", true)
		return
	}
	v.field("without", fmt.Sprintf("suspect times: %s, %s instead of %s", pluralOf(w.Total.Count, "operation", "operations"),
		units.Duration(w.Total.SumNS), units.Duration(v.r.Total.SumNS)), true)
	v.largestWithout(w)
	v.spanWithout(w)
}

// largestWithout names the operation with the largest share without suspect times, where that changes.
func (v *view) largestWithout(w *analyze.WithoutSuspects) {
	o := &w.Operations[0]
	share, before := knownFloat(o.Share, units.Percent), absent
	if with := operationRows(v.r.Operations)[operationKey{o.Operation, o.Side}]; with != nil {
		before = knownFloat(with.Share, units.Percent)
	}
	if share != before {
		v.note(fmt.Sprintf("%s is %s of it instead of %s", termtext.Truncate(termtext.Clean(o.Operation), maxCell), share, before))
	}
}

// spanWithout names the device with the span that changes most, if any does.
func (v *view) spanWithout(w *analyze.WithoutSuspects) {
	var device, with *analyze.Device
	most := int64(0)
	before := deviceRows(v.r.Devices)
	for i := range w.Devices {
		d := &w.Devices[i]
		b := before[keyOf(d)]
		if b != nil && d.SpanNS.Known && b.SpanNS.V-d.SpanNS.V > most {
			device, with, most = d, b, b.SpanNS.V-d.SpanNS.V
		}
	}
	if device != nil {
		label := termtext.Truncate(termtext.Clean(deviceLabel(device, severalRanks(v.r.Devices))), maxCell)
		v.note(fmt.Sprintf("%s spans %s instead of %s", label, units.Duration(device.SpanNS.V), units.Duration(with.SpanNS.V)))
	}
}

// operationsWithout shows the operations that have other figures without suspect times.
func (v *view) operationsWithout() {
	w := v.r.WithoutSuspects
	if w == nil {
		return
	}
	t := newTable("<operation", "<side", "count", "sum", "share", "self", "mean", "p50", "p99", "max")
	rows := operationRows(w.Operations)
	for i := range v.r.Operations {
		with := &v.r.Operations[i]
		o := rows[operationKey{with.Operation, with.Side}]
		switch {
		case o == nil:
			t.add(with.Operation, with.Side, "0", absent, absent, absent, absent, absent, absent, absent)
		case !sameFigures(&with.Stats, &o.Stats):
			t.add(o.Operation, o.Side, units.Count(o.Count), units.Duration(o.SumNS), knownFloat(o.Share, units.Percent),
				knownDuration(o.SelfNS), units.DurationFloat(o.MeanNS), knownFloat(o.P50NS, units.DurationFloat),
				knownFloat(o.P99NS, units.DurationFloat), units.Duration(o.MaxNS))
		}
	}
	v.tableWithout(t)
}

// sameFigures reports whether the figures of two rows look the same.
func sameFigures(a, b *analyze.Stats) bool {
	return a.Count == b.Count && a.SumNS == b.SumNS && a.SelfNS == b.SelfNS &&
		knownFloat(a.Share, units.Percent) == knownFloat(b.Share, units.Percent)
}

// devicesWithout shows the devices that have other figures without suspect times.
func (v *view) devicesWithout() {
	w := v.r.WithoutSuspects
	if w == nil {
		return
	}
	var changed []analyze.Device
	rows := deviceRows(w.Devices)
	for i := range v.r.Devices {
		with := &v.r.Devices[i]
		switch d := rows[keyOf(with)]; {
		case d == nil:
			changed = append(changed, analyze.Device{DeviceID: with.DeviceID, Rank: with.Rank})
		case *d != *with:
			changed = append(changed, *d)
		}
	}
	v.tableWithout(devicesTable(changed, severalRanks(v.r.Devices)))
}

// tableWithout shows the first rows of a table of figures without suspect times.
func (v *view) tableWithout(t *table) {
	if len(t.rows) == 0 {
		return
	}
	v.note("without suspect times:")
	more := len(t.rows) - maxWithout
	t.rows = t.rows[:min(len(t.rows), maxWithout)]
	v.table(t)
	if more > 0 {
		v.note(fmt.Sprintf("and %s more with other figures", units.Count(int64(more))))
	}
}

// operationKey identifies a row of the operations.
type operationKey struct{ operation, side string }

func operationRows(rows []analyze.Operation) map[operationKey]*analyze.Operation {
	byKey := make(map[operationKey]*analyze.Operation, len(rows))
	for i := range rows {
		byKey[operationKey{rows[i].Operation, rows[i].Side}] = &rows[i]
	}
	return byKey
}

func deviceRows(rows []analyze.Device) map[analyze.DeviceKey]*analyze.Device {
	byKey := make(map[analyze.DeviceKey]*analyze.Device, len(rows))
	for i := range rows {
		byKey[keyOf(&rows[i])] = &rows[i]
	}
	return byKey
}

func keyOf(d *analyze.Device) analyze.DeviceKey {
	return analyze.DeviceKey{Rank: d.Rank, DeviceID: d.DeviceID}
}
