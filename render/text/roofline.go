package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/units"
)

// roofline shows how near operations came to what their devices can do at best, those that
// took longest first.
func (v *view) roofline() {
	if len(v.r.Peaks) == 0 {
		return
	}
	v.heading("ROOFLINE")
	t := newTable(names("operation", 0), figures("count", 5), figures("sum", 0), figures("flop/s", 0), figures("moved", 4),
		figures("flop/B", 2), figures("of best", 0), texts("", 3), texts("bound by", 1))
	for i := range v.r.Operations {
		if o := &v.r.Operations[i]; o.Roofline != nil {
			t.add(append([]string{o.Operation}, rooflineCells(o.Roofline)...)...)
		}
	}
	if len(t.rows) == 0 {
		v.note("there are peaks, but for no operation: its device, shapes or element type are not among them")
	} else {
		v.table(t)
		v.rooflineTotal(v.r.Total.Roofline)
	}
	if slices.ContainsFunc(v.r.Operations, func(o profile.Operation) bool { return o.Roofline != nil && o.Roofline.Share.V > 1 }) {
		v.note("more than 100 %: data stayed in caches, or the peaks are not those of the arithmetic that was used")
	}
	for i := range v.r.Peaks {
		v.note(peaksText(&v.r.Peaks[i]))
	}
}

func rooflineCells(r *work.Roofline) []string {
	rate, intensity := "", ""
	if r.FLOPs > 0 {
		rate = units.FLOPsPerSecond(float64(r.FLOPs) / float64(r.SumNS) * 1e9)
		intensity = units.Intensity(float64(r.FLOPs) / float64(r.MovedBytes))
	}
	return []string{
		units.Count(r.Count), units.Duration(r.SumNS), rate, units.Bytes(r.MovedBytes), intensity,
		knownFloat(r.Share, units.Percent), bar(min(r.Share.V, 1)), r.Bound,
	}
}

// rooflineTotal says what the table is about.
func (v *view) rooflineTotal(r *work.Roofline) {
	if r == nil {
		return
	}
	v.note(fmt.Sprintf("of best: the least time that FLOPs or bytes take at the device's peaks, as a part of the time taken;"+
		" %s of %s in all, %s", knownFloat(r.Share, units.Percent), units.Duration(r.SumNS), pluralOf(r.Count, "operation", "operations")))
}

// peaksText describes a device: "cuda:* is an NVIDIA H100 SXM, 3.35 TB/s, f32 67.0 TFLOP/s
// (data sheet)".
func peaksText(d *peaks.Device) string {
	var parts []string
	for _, t := range slices.Sorted(maps.Keys(d.FLOPsPerSecond)) {
		parts = append(parts, string(t)+" "+units.FLOPsPerSecond(d.FLOPsPerSecond[t]))
	}
	match, name, source := d.Match, d.Name, ""
	if match == "" {
		match = "every device"
	}
	if name != "" {
		name = " is " + name
	}
	if d.Source != "" {
		source = " (" + d.Source + ")"
	}
	return fmt.Sprintf("%s%s: memory %s, %s%s", match, name, units.PeakBytesPerSecond(d.BytesPerSecond), strings.Join(parts, ", "), source)
}
