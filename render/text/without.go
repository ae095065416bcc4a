package text

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/internal/units"
)

// maxWithout bounds the rows that are shown a second time, without suspect times.
const maxWithout = 10

// without says in the envelope what changes without the operations whose times
// cannot be right.
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

// largestWithout names the operation with the largest share without suspect
// times, where that changes.
func (v *view) largestWithout(w *analyze.WithoutSuspects) {
	largest := slices.IndexFunc(w.Operations, func(o profile.Operation) bool { return o.Share.Known })
	if largest < 0 {
		return
	}
	o := &w.Operations[largest]
	share, before := knownFloat(o.Share, units.Percent), absent
	if at := slices.IndexFunc(v.r.Operations, func(with profile.Operation) bool {
		return with.Operation == o.Operation && with.Side == o.Side
	}); at >= 0 {
		before = knownFloat(v.r.Operations[at].Share, units.Percent)
	}
	if share != before {
		v.note(fmt.Sprintf("%s is %s of it instead of %s", termtext.Shorten(termtext.Clean(o.Operation), maxInText), share, before))
	}
}

// spanWithout names the device with the span that changes most, if any does.
func (v *view) spanWithout(w *analyze.WithoutSuspects) {
	var device, with *profile.Device
	most := int64(0)
	before := deviceRows(v.r.Devices)
	for i := range w.Devices {
		d := &w.Devices[i]
		b := before[d.Key()]
		if b != nil && d.SpanNS.Known && b.SpanNS.V-d.SpanNS.V > most {
			device, with, most = d, b, b.SpanNS.V-d.SpanNS.V
		}
	}
	if device != nil {
		label := termtext.Shorten(termtext.Clean(deviceLabel(device, severalRanks(v.r.Devices))), maxInText)
		v.note(fmt.Sprintf("%s spans %s instead of %s", label, units.Duration(device.SpanNS.V), units.Duration(with.SpanNS.V)))
	}
}

// operationsWithout shows the operations that have other figures without
// suspect times.
func (v *view) operationsWithout() {
	if w := v.r.WithoutSuspects; w != nil {
		v.statsWithout([]string{"operation"}, operationStats(v.r.Operations), operationStats(w.Operations))
	}
}

// groupsWithout shows the groups that have other figures without suspect times.
func (v *view) groupsWithout() {
	if w := v.r.WithoutSuspects; w != nil {
		v.statsWithout(v.r.By, groupStats(v.r.Groups, len(v.r.By)), groupStats(w.Groups, len(v.r.By)))
	}
}

// namedStats are the statistics of a row and the names in its first cell.
type namedStats struct {
	names []string
	key   string // different for different rows
	*profile.Stats
}

func operationStats(rows []profile.Operation) []namedStats {
	stats := make([]namedStats, len(rows))
	for i := range rows {
		o := &rows[i]
		stats[i] = namedStats{[]string{o.Operation}, o.Side + "|" + o.Operation, &o.Stats}
	}
	return stats
}

func groupStats(rows []profile.Group, keys int) []namedStats {
	stats := make([]namedStats, len(rows))
	for i := range rows {
		g := &rows[i]
		key := []byte(g.Side)
		for _, value := range g.Key.Values {
			key = strconv.AppendQuote(append(key, '|'), value.Text)
			key = strconv.AppendBool(key, value.Known)
		}
		stats[i] = namedStats{keyNames(g.Key, keys), strconv.FormatBool(g.Key.Other) + string(key), &g.Stats}
	}
	return stats
}

// statsWithout shows the rows that have other figures without suspect times.
func (v *view) statsWithout(keys []string, with, without []namedStats) {
	left := make(map[string]*profile.Stats, len(without))
	for _, row := range without {
		left[row.key] = row.Stats
	}
	t := newTable(append(keyColumns(keys), texts("side", 0), figures("count", 0), figures("sum", 0), figures("share", 0), texts("", 1),
		figures("self", 4), figures("mean", 3), figures("p50", 6), figures("p99", 5), figures("max", 2))...)
	for _, row := range with {
		s := left[row.key]
		switch {
		case s == nil:
			t.add(append(slices.Clone(row.names), row.Side, "0", absent, absent, "", absent, absent, absent, absent, absent)...)
		case !sameFigures(row.Stats, s):
			t.add(append(slices.Clone(row.names), s.Side, units.Count(s.Count), units.Duration(s.SumNS), knownFloat(s.Share, units.Percent),
				bar(s.Share.V), knownDuration(s.SelfNS), units.DurationFloat(s.MeanNS), knownFloat(s.P50NS, units.DurationFloat),
				knownFloat(s.P99NS, units.DurationFloat), units.Duration(s.MaxNS))...)
		}
	}
	v.tableWithout(t)
}

// sameFigures reports whether the figures of two rows look the same.
func sameFigures(a, b *profile.Stats) bool {
	return a.Count == b.Count && a.SumNS == b.SumNS && a.SelfNS == b.SelfNS &&
		knownFloat(a.Share, units.Percent) == knownFloat(b.Share, units.Percent)
}

// devicesWithout shows the devices that have other figures without suspect times.
func (v *view) devicesWithout() {
	w := v.r.WithoutSuspects
	if w == nil {
		return
	}
	var changed []profile.Device
	rows := deviceRows(w.Devices)
	for i := range v.r.Devices {
		with := &v.r.Devices[i]
		switch d := rows[with.Key()]; {
		case d == nil:
			changed = append(changed, profile.Device{
				DeviceID: with.DeviceID, Named: with.Named, Rank: with.Rank, Service: with.Service, Host: with.Host,
			})
		case *d != *with:
			changed = append(changed, *d)
		}
	}
	v.tableWithout(devicesTable(changed, len(changed), severalRanks(v.r.Devices)))
}

// tableWithout shows the first rows of a table of figures without suspect times.
func (v *view) tableWithout(t *table) {
	if len(t.rows) == 0 {
		return
	}
	v.note("without suspect times:")
	v.first(t, min(v.rows, maxWithout), 0)
}

func deviceRows(rows []profile.Device) map[device.Key]*profile.Device {
	byKey := make(map[device.Key]*profile.Device, len(rows))
	for i := range rows {
		byKey[rows[i].Key()] = &rows[i]
	}
	return byKey
}
