package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/kernelname"
	"github.com/optrace/optrace/internal/units"
)

// operations shows the table by operation.
func (v *view) operations() {
	v.heading("OPERATIONS")
	if len(v.r.Operations) == 0 {
		v.note("no operations in the input")
		return
	}
	rows := operationStats(v.r.Operations)
	ofDevices(rows)
	v.stats([]string{"operation"}, rows)
	if w := v.r.WithoutSuspects; w != nil {
		v.statsWithout([]string{"operation"}, rows, operationStats(w.Operations))
	}
	p := v.r.Percentiles
	v.note(fmt.Sprintf("percentiles are exact for up to %s entries a row, else within %s",
		units.Count(p.ExactUpTo), units.Percent(p.RelativeError)))
	mixed := func(o profile.Operation) bool { return len(o.Mixes) > 0 }
	if slices.ContainsFunc(v.r.Operations[:min(len(v.r.Operations), v.Rows)], mixed) {
		v.note("differs in: what is not the same within a row; compare such rows by -by operation,shape")
	}
}

// groups shows the table by the keys that were asked for.
func (v *view) groups() {
	if v.r.Groups == nil || len(v.r.Operations) == 0 {
		return
	}
	v.heading("BY " + strings.ToUpper(strings.Join(v.r.By, ", ")))
	rows := groupStats(v.r.Groups, len(v.r.By))
	v.stats(v.r.By, rows)
	if w := v.r.WithoutSuspects; w != nil {
		v.statsWithout(v.r.By, rows, groupStats(w.Groups, len(v.r.By)))
	}
}

// namedStats are the statistics of a row and the names in its first cells.
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
		key := strconv.AppendBool([]byte(g.Side), g.Key.Other)
		for _, value := range g.Key.Values {
			key = strconv.AppendQuote(append(key, '|'), value.Text)
			key = strconv.AppendBool(key, value.Known)
		}
		stats[i] = namedStats{keyNames(g.Key, keys), string(key), &g.Stats}
	}
	return stats
}

// keyNames returns the values of a group's keys, of which there are n.
func keyNames(k key.Group, n int) []string {
	names := make([]string, n)
	if k.Other {
		names[0] = k.String()
		return names
	}
	for i, v := range k.Values {
		names[i] = v.String()
		if v.Known && (v.Text == device.Unknown || strings.TrimSpace(v.Text) == "") {
			names[i] = strconv.Quote(v.Text) // unlike a value that is not known, and unlike none
		}
	}
	return names
}

// keyTable returns a table with columns of names in front of others.
func keyTable(keys []string, others ...column) *table {
	var columns []column
	for _, k := range keys {
		columns = append(columns, names(k, 0))
	}
	return newTable(append(columns, others...)...)
}

// ofDevices puts rows of the host's side behind the others and returns how many others there are.
func ofDevices(rows []namedStats) int {
	slices.SortStableFunc(rows, func(a, b namedStats) int { return cmp.Compare(a.Side, b.Side) })
	if n := slices.IndexFunc(rows, func(r namedStats) bool { return r.Side != "" }); n >= 0 {
		return n
	}
	return len(rows)
}

// stats shows a table of statistics.
func (v *view) stats(keys []string, rows []namedStats) { v.table(statsTable(keys, rows)) }

func statsTable(keys []string, rows []namedStats) *table {
	t := keyTable(keys, texts("kind", 7), texts("side", 0), figures("count", 0), figures("sum", 0),
		figures("share", 0), texts("", 2), figures("self", 6), figures("mean", 4), figures("p50", 9), figures("p95", 11), figures("p99", 5),
		figures("max", 3), figures("memory", 10), figures("flops", 8), figures("flop/s", 13), figures("flop/B", 14),
		figures("errors", 1), names("differs in", 12))
	for _, s := range rows {
		rate, intensity := "", ""
		if s.FLOPsPerSecond.V != 0 {
			rate = units.FLOPsPerSecond(s.FLOPsPerSecond.V)
		}
		if s.FLOPsPerByte.Known {
			intensity = units.Intensity(s.FLOPsPerByte.V)
		}
		t.add(append(s.names, s.Kind, s.Side, units.Count(s.Count), units.Duration(s.SumNS), knownFloat(s.Share, units.Percent), bar(s.Share.V),
			knownDuration(s.SelfNS), units.DurationFloat(s.MeanNS), knownFloat(s.P50NS, units.DurationFloat),
			knownFloat(s.P95NS, units.DurationFloat), knownFloat(s.P99NS, units.DurationFloat), units.Duration(s.MaxNS),
			nonZero(s.MemoryBytes.V, units.Bytes), nonZero(max(0, s.FLOPs), units.FLOPs), rate, intensity, nonZero(max(0, s.Errors), units.Count),
			strings.Join(s.Mixes, ", "))...)
	}
	return t
}

// statsWithout shows the rows that have other figures without suspect times.
func (v *view) statsWithout(keys []string, with, without []namedStats) {
	left := make(map[string]*profile.Stats, len(without))
	for _, row := range without {
		left[row.key] = row.Stats
	}
	t := keyTable(keys, texts("side", 0), figures("count", 0), figures("sum", 0), figures("share", 0), texts("", 1),
		figures("self", 4), figures("mean", 3), figures("p50", 6), figures("p99", 5), figures("max", 2))
	for _, row := range with {
		s := left[row.key]
		switch {
		case s == nil:
			t.add(append(row.names, row.Side, "0", absent, absent, "", absent, absent, absent, absent, absent)...)
		case !sameFigures(row.Stats, s):
			t.add(append(row.names, s.Side, units.Count(s.Count), units.Duration(s.SumNS), knownFloat(s.Share, units.Percent),
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
		for _, b := range r.Below {
			name := kernelname.Short(b.Operation)
			if b.CapturedIn != "" {
				name = b.CapturedIn + ": " + name
			}
			t.add("  "+name, "", units.Duration(b.SumNS), "", "", "", nonZero(b.Count, units.Count), "", "", "", "", "")
		}
	}
	v.table(t)
	v.note("device self: the operations of devices that the operator launched; total: with those of the operators inside it; " +
		"device idle: of host total, the time in which nothing ran on a device")
	if u := o.Unattributed; u.Count > 0 {
		v.note(plural(u.Count, "operation") + " of devices, " + units.Duration(u.SumNS) + ", without a known operator")
	}
}
