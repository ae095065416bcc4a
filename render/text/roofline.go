package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/units"
)

// roofline shows how near operations came to what their devices can do at best, those that
// took longest first.
func (v *view) roofline() {
	if len(v.r.Peaks) == 0 || len(v.r.Operations) == 0 {
		return
	}
	v.heading("ROOFLINE")
	t := newTable("operation:n|count:5|sum|flop/s|moved:4|flop/B:2|of best|:t3|bound by:t1")
	beyond := false
	add := func(name string, r *work.Roofline) {
		if r == nil {
			return
		}
		rate, intensity := "", ""
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
			v.note(fmt.Sprintf("of best: the least time that FLOPs or bytes take at the device's peaks, as a part of the time taken;"+
				" %s of %s in all, %s", knownFloat(r.Share, units.Percent), units.Duration(r.SumNS), plural(r.Count, "operation")))
		}
	}
	if beyond {
		v.note("more than 100 %: data stayed in caches, or the peaks are not those of the arithmetic that was used")
	}
	for i := range v.r.Peaks {
		v.note(peaksText(&v.r.Peaks[i]))
	}
}

// peaksText describes a device: "cuda:* is an NVIDIA H100 SXM, 3.35 TB/s, f32 67.0 TFLOP/s
// (data sheet)".
func peaksText(d *peaks.Device) string {
	text := cmp.Or(d.Match, "every device")
	if d.Name != "" {
		text += " is " + d.Name
	}
	var rates []string
	for _, t := range slices.Sorted(maps.Keys(d.FLOPsPerSecond)) {
		rates = append(rates, string(t)+" "+units.FLOPsPerSecond(d.FLOPsPerSecond[t]))
	}
	text += ": memory " + units.PeakBytesPerSecond(d.BytesPerSecond) + ", " + strings.Join(rates, ", ")
	if d.Source != "" {
		text += " (" + d.Source + ")"
	}
	return text
}
