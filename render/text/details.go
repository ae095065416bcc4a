package text

import (
	"cmp"
	"fmt"

	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
)

func (v *view) memory() {
	m := &v.r.Memory
	v.heading("MEMORY")
	text := fmt.Sprintf("%s above %s", entries(m.HotspotCount), units.Bytes(m.ThresholdBytes))
	if n := int64(len(m.Hotspots)); n < m.HotspotCount {
		text += ", the first " + units.Count(n)
	}
	v.note(text)
	if len(m.Hotspots) > 0 {
		v.entryTable(m.Hotspots)
	}
	if len(m.Copies) == 0 {
		return
	}
	t := newTable(names("copies", 0), figures("count", 2), figures("sum", 0), figures("memory", 1), figures("bandwidth", 0))
	for _, c := range m.Copies {
		t.add(c.Direction, units.Count(c.Count), units.Duration(c.SumNS), known(c.MemoryBytes, units.Bytes),
			knownFloat(c.BytesPerSecond, units.BytesPerSecond))
	}
	v.table(t)
}

func (v *view) slowest() {
	if v.r.Slowest == nil {
		return
	}
	v.heading("SLOWEST")
	switch {
	case len(v.r.Slowest) > 0:
		v.entryTable(v.r.Slowest)
	case v.r.Total.Count > 0:
		v.note("none: -top is 0")
	default:
		v.note("none: " + v.whyNothingRan())
	}
}

// entryTable shows a table of entries.
func (v *view) entryTable(entries []*op.Entry) {
	t := newTable(names("operation", 0), figures("duration", 0), figures("memory", 5), names("device", 2), figures("rank", 6),
		figures("step", 7), names("output", 8), texts("start", 10), texts("trace", 11), texts("span", 9), names("error", 1))
	for _, e := range entries {
		device, shape, failure := e.DeviceID, absent, ""
		if e.HasDevice() {
			device = deviceName(device)
		}
		if e.OutputShape != nil {
			shape = e.OutputShape.String()
		}
		if e.Failed {
			failure = cmp.Or(e.Error, "failed")
		}
		t.add(e.Operation, units.Duration(e.Duration), known(e.MemoryBytes, units.Bytes), device, known(e.Rank, decimal),
			known(e.Step, decimal), shape, known(e.Start, startText), idText(e.TraceID), idText(e.SpanID), failure)
	}
	v.table(t)
}
