package text

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

func (v *view) operations() {
	if v.empty("OPERATIONS", len(v.r.Operations) == 0, "no operations in the input") {
		return
	}
	rows := operationStats(v.r.Operations)
	bySelf(rows)
	v.table(statsTable([]string{"operation"}, rows))
	p := v.r.Percentiles
	v.note(fmt.Sprintf("percentiles are exact for up to %s entries a row, else within %s",
		units.Count(p.ExactUpTo), units.Percent(p.RelativeError)))
	mixed := func(o profile.Operation) bool { return len(o.Mixes) > 0 }
	if slices.ContainsFunc(v.r.Operations[:min(len(v.r.Operations), v.Rows)], mixed) {
		v.note("differs in: what is not the same within a row; compare such rows by -by operation,shape")
	}
}

func (v *view) groups() {
	if v.r.Groups == nil || len(v.r.Operations) == 0 {
		return
	}
	v.heading("BY " + strings.ToUpper(strings.Join(v.r.By, ", ")))
	rows := groupStats(v.r.Groups, len(v.r.By))
	bySelf(rows)
	v.table(statsTable(v.r.By, rows))
}

// namedStats are the statistics of a row and the names in its first cells.
type namedStats struct {
	names []string
	*profile.Stats
}

func operationStats(rows []profile.Operation) []namedStats {
	stats := make([]namedStats, len(rows))
	for i := range rows {
		o := &rows[i]
		stats[i] = namedStats{[]string{o.Operation}, &o.Stats}
	}
	return stats
}

func groupStats(rows []profile.Group, keys int) []namedStats {
	stats := make([]namedStats, len(rows))
	for i := range rows {
		g := &rows[i]
		stats[i] = namedStats{keyNames(g.Key, keys), &g.Stats}
	}
	return stats
}

// keyNames returns the n values of a group's keys.
func keyNames(k key.Group, n int) []string {
	names := make([]string, n)
	if k.Other {
		names[0] = k.String()
		return names
	}
	for i, v := range k.Values {
		names[i] = v.String()
		if v.Known && (v.Text == device.Unknown || strings.TrimSpace(v.Text) == "") {
			names[i] = strconv.Quote(v.Text) // unlike an unknown or a missing value
		}
	}
	return names
}

// bySelf sorts rows by self time, rows of the host's side last, and returns the number of other rows.
func bySelf(rows []namedStats) int {
	slices.SortStableFunc(rows, func(a, b namedStats) int {
		return cmp.Or(cmp.Compare(a.Side, b.Side), cmp.Compare(b.SelfNS.V, a.SelfNS.V))
	})
	if n := slices.IndexFunc(rows, func(r namedStats) bool { return r.Side != "" }); n >= 0 {
		return n
	}
	return len(rows)
}

// share returns the share by self time, so that no time counts twice, or by sum if self times are not known.
func (s namedStats) share() op.Float {
	if s.SelfShare.Known {
		return s.SelfShare
	}
	return s.Share
}

func statsTable(keys []string, rows []namedStats) *table {
	t := newTable("kind:t7|side:t|count|sum|share|:t2|self:6|mean:4|p50:9|p95:11|p99:5|max:3|memory:10|flops:8"+
		"|flop/s:13|flop/B:14|errors:1|differs in:n12", keys...)
	for _, s := range rows {
		rate := ""
		intensity := ""
		flops := nonZero(max(0, s.FLOPs), units.FLOPs)
		if flops != "" && s.FLOPsCount > 0 && s.FLOPsCount < s.Count {
			flops += " (" + units.Count(s.FLOPsCount) + " of " + units.Count(s.Count) + ")"
		}
		if s.FLOPsPerSecond.V != 0 {
			rate = units.FLOPsPerSecond(s.FLOPsPerSecond.V)
		}
		if s.FLOPsPerByte.Known {
			intensity = units.Intensity(s.FLOPsPerByte.V)
		}
		t.add(append(s.names, s.Kind, s.Side, units.Count(s.Count), units.Duration(s.SumNS),
			knownFloat(s.share(), units.Percent), bar(s.share().V),
			knownDuration(s.SelfNS), units.DurationFloat(s.MeanNS), knownFloat(s.P50NS, units.DurationFloat),
			knownFloat(s.P95NS, units.DurationFloat), knownFloat(s.P99NS, units.DurationFloat), units.Duration(s.MaxNS),
			nonZero(s.MemoryBytes.V, units.Bytes), flops, rate, intensity,
			nonZero(max(0, s.Errors), units.Count), strings.Join(s.Mixes, ", "))...)
	}
	return t
}

// briefTable has the columns of a first screen. Without self times it has sums.
func briefTable(keys []string, rows []namedStats) *table {
	head := "sum"
	if slices.ContainsFunc(rows, func(r namedStats) bool { return r.SelfNS.Known }) {
		head = "self"
	}
	t := newTable("side:t6|count:5|"+head+"|share:1|mean:4|max:3|errors:1", keys...)
	for _, s := range rows {
		ns := s.SumNS
		if head == "self" {
			ns = s.SelfNS.V
		}
		t.add(append(s.names, s.Side, units.Count(s.Count), units.Duration(ns), knownFloat(s.share(), units.Percent),
			units.DurationFloat(s.MeanNS), units.Duration(s.MaxNS), nonZero(max(0, s.Errors), units.Count))...)
	}
	return t
}

func (v *view) operators() {
	o := v.r.Operators
	if o == nil {
		return
	}
	v.heading("OPERATORS")
	const columns = "operator:n|calls:3|device self|share|:t2|device total|kernels:4|host self|host total:1" +
		"|device idle:5|memory:6|flops:7"
	show(&v.page, columns, o.Rows, func(t *table, r *operators.Row) {
		share := shareOf(r.DeviceSelfNS, v.r.Total.SumNS)
		t.add(r.Operator, nonZero(r.Calls, units.Count), units.Duration(r.DeviceSelfNS), units.Percent(share),
			bar(share), units.Duration(r.DeviceTotalNS), nonZero(r.Kernels, units.Count), knownDuration(r.HostSelfNS),
			knownDuration(r.HostTotalNS),
			knownDuration(r.DeviceIdleNS), ifKnown(r.MemoryBytes, units.Bytes), ifKnown(r.FLOPs, units.FLOPs))
		names := make([]string, len(r.Below))
		for i := range r.Below {
			names[i] = r.Below[i].Operation
		}
		for i, name := range termtext.Distinct(names, math.MaxInt32, kernelname.Short, kernelname.Long) {
			b := &r.Below[i]
			if b.CapturedIn != "" {
				name = b.CapturedIn + ": " + name
			}
			t.add("  "+name, "", units.Duration(b.SumNS), "", "", "", nonZero(b.Count, units.Count), "", "", "", "", "")
		}
	})
	v.note("device self: the operations of devices that the operator launched; total: with those of the operators " +
		"inside it; device idle: of host total, the time in which nothing ran on a device")
	if u := o.Unattributed; u.Count > 0 {
		v.note(units.Plural(u.Count,
			"operation") + " of devices, " + units.Duration(u.SumNS) + ", without a known operator")
	}
}

// roofline shows how close operations came to the peaks of their devices, longest first.
func (v *view) roofline() {
	if len(v.r.Operations) == 0 || len(v.r.Peaks) == 0 && v.Show == nil {
		return
	}
	if v.empty("ROOFLINE", len(v.r.Peaks) == 0, "no peaks: the input names no well-known device; -peaks states them") {
		return
	}
	t := newTable("operation:n|count:5|sum|flop/s|moved:4|flop/B:2|of best|:t3|bound by:t1")
	beyond := false
	add := func(name string, r *work.Roofline) {
		if r == nil {
			return
		}
		rate := ""
		intensity := ""
		if r.FLOPs > 0 {
			rate = units.FLOPsPerSecond(float64(r.FLOPs) / float64(r.SumNS) * 1e9)
			intensity = units.Intensity(float64(r.FLOPs) / float64(r.MovedBytes))
		}
		t.add(name, units.Count(r.Count), units.Duration(r.SumNS), rate, units.Bytes(r.MovedBytes), intensity,
			knownFloat(r.Share, units.Percent), bar(min(r.Share.V, 1)), r.Bound)
		beyond = beyond || r.Share.V > 1
	}
	for i := range v.r.Operations {
		add(v.r.Operations[i].Operation, v.r.Operations[i].Roofline)
	}
	if v.r.Operators != nil {
		for i := range v.r.Operators.Rows {
			add(v.r.Operators.Rows[i].Operator, v.r.Operators.Rows[i].Roofline)
		}
	}
	if len(t.rows) == 0 {
		v.note("there are peaks, but for no operation: its device, shapes or element type are not among them")
	} else {
		v.table(t)
		if r := v.r.Total.Roofline; r != nil {
			v.note(fmt.Sprintf("of best: the least time that FLOPs or bytes take at the device's peaks, as a part of "+
				"the time taken; %s of %s in all, %s", knownFloat(r.Share, units.Percent), units.Duration(r.SumNS),
				someOperations(r.Count, v.r.Total.Count)))
		}
	}
	if beyond {
		v.note("more than 100 %: data stayed in caches, or the peaks are not those of the arithmetic that was used")
	}
	for i := range v.r.Peaks {
		v.note(peaksText(&v.r.Peaks[i]))
	}
}

// peaksText describes a device: "cuda:* is an NVIDIA H100 SXM, 3.35 TB/s, f32 67.0 TFLOP/s (data sheet)".
func peaksText(d *peaks.Device) string {
	text := cmp.Or(d.Model, d.Match, "every device")
	if d.Name != "" {
		text += " is " + d.Name
	}
	text += ": memory " + units.PeakBytesPerSecond(d.BytesPerSecond)
	if d.LinkBytesPerSecond > 0 {
		text += ", links " + units.PeakBytesPerSecond(d.LinkBytesPerSecond)
	}
	if d.PCIeBytesPerSecond > 0 {
		text += ", PCIe " + units.PeakBytesPerSecond(d.PCIeBytesPerSecond)
	}
	var rates []string
	for _, t := range slices.Sorted(maps.Keys(d.FLOPsPerSecond)) {
		rates = append(rates, string(t)+" "+units.FLOPsPerSecond(d.FLOPsPerSecond[t]))
	}
	text += ", " + strings.Join(rates, ", ")
	if d.TF32FLOPsPerSecond > 0 {
		text += ", tf32 " + units.FLOPsPerSecond(d.TF32FLOPsPerSecond) + " for f32 on tensor cores"
	}
	if d.Source != "" {
		text += " (" + d.Source + ")"
	}
	return termtext.Clean(text)
}
