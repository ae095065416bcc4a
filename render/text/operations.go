package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
)

// absent stands for a figure that is not known.
const absent = "-"

// operations shows the table by operation, the one by the keys that were asked for, and the
// one by what devices can do.
func (v *view) operations() {
	v.heading("OPERATIONS")
	if len(v.r.Operations) == 0 {
		v.note("no operations in the input")
		return
	}
	t := statsTable("operation")
	for i := range v.r.Operations {
		o := &v.r.Operations[i]
		t.add(append([]string{o.Operation}, statsCells(&o.Stats)...)...)
	}
	v.table(t)
	v.operationsWithout()
	v.mixNote()
	v.groups()
	v.roofline()
}

// groups shows the table by the keys that were asked for.
func (v *view) groups() {
	if v.r.Groups == nil {
		return
	}
	v.heading("BY " + strings.ToUpper(strings.Join(v.r.By, ", ")))
	t := statsTable(v.r.By...)
	for i := range v.r.Groups {
		g := &v.r.Groups[i]
		t.add(append(keyNames(g.Key, len(v.r.By)), statsCells(&g.Stats)...)...)
	}
	v.table(t)
	v.groupsWithout()
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

// keyColumns are the columns of the names that rows have figures of.
func keyColumns(keys []string) []column {
	columns := make([]column, len(keys))
	for i, k := range keys {
		columns[i] = names(k, 0)
	}
	return columns
}

func statsTable(keys ...string) *table {
	return newTable(append(keyColumns(keys), texts("kind", 7), texts("side", 0), figures("count", 0), figures("sum", 0),
		figures("share", 0), texts("", 2), figures("self", 6), figures("mean", 4), figures("p50", 9), figures("p95", 11), figures("p99", 5),
		figures("max", 3), figures("memory", 10), figures("flops", 8), figures("flop/s", 13), figures("flop/B", 14),
		figures("errors", 1), names("mixes", 12))...)
}

func statsCells(s *profile.Stats) []string {
	errors := ""
	if s.Errors > 0 {
		errors = units.Count(s.Errors)
	}
	flops := ""
	if s.FLOPs > 0 {
		flops = units.FLOPs(s.FLOPs)
	}
	intensity := ""
	if s.FLOPsPerByte.Known {
		intensity = units.Intensity(s.FLOPsPerByte.V)
	}
	return []string{
		s.Kind, s.Side, units.Count(s.Count), units.Duration(s.SumNS), knownFloat(s.Share, units.Percent), bar(s.Share.V),
		knownDuration(s.SelfNS),
		units.DurationFloat(s.MeanNS), knownFloat(s.P50NS, units.DurationFloat),
		knownFloat(s.P95NS, units.DurationFloat), knownFloat(s.P99NS, units.DurationFloat), units.Duration(s.MaxNS),
		units.Bytes(s.MemoryBytes), flops, achieved(&s.Figures), intensity, errors, strings.Join(s.Mixes, ", "),
	}
}

// achieved writes the rate of operations; nothing for those that computed nothing.
func achieved(w *work.Figures) string {
	if !w.FLOPsPerSecond.Known || w.FLOPsPerSecond.V == 0 {
		return ""
	}
	return units.FLOPsPerSecond(w.FLOPsPerSecond.V)
}

// mixNote explains the percentiles' error and the column of what differs.
func (v *view) mixNote() {
	p := v.r.Percentiles
	v.note(fmt.Sprintf("percentiles are exact for up to %s entries a row, else within %s",
		units.Count(p.ExactUpTo), units.Percent(p.RelativeError)))
	for i := range v.r.Operations[:min(len(v.r.Operations), v.rows)] {
		if len(v.r.Operations[i].Mixes) > 0 {
			v.note("mixes: what differs within a row; compare such rows by -by operation,shape")
			return
		}
	}
}

// knownFloat writes a number that may be unknown.
func knownFloat(f op.Float, format func(float64) string) string {
	if !f.Known {
		return absent
	}
	return format(f.V)
}

// knownDuration writes nanoseconds that may be unknown.
func knownDuration(ns op.Int) string {
	if !ns.Known {
		return absent
	}
	return units.Duration(ns.V)
}
