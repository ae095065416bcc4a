package text

import (
	"fmt"
	"time"

	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
)

func (v *view) memory() {
	m := &v.r.Memory
	v.heading("MEMORY")
	text := fmt.Sprintf("%s above %s", pluralOf(m.HotspotCount, "entry", "entries"), units.Bytes(m.ThresholdBytes))
	if n := int64(len(m.Hotspots)); n < m.HotspotCount {
		text += ", the first " + units.Count(n)
	}
	v.note(text)
	if len(m.Hotspots) > 0 {
		v.table(entryTable(m.Hotspots))
	}
	if len(m.Copies) == 0 {
		return
	}
	t := newTable(names("copies", 0), figures("count", 2), figures("sum", 0), figures("memory", 1), figures("bandwidth", 0))
	for _, c := range m.Copies {
		rate := absent
		if c.BytesPerSecond.Known {
			rate = units.BytesPerSecond(c.BytesPerSecond.V)
		}
		t.add(c.Direction, units.Count(c.Count), units.Duration(c.SumNS), units.Bytes(c.MemoryBytes), rate)
	}
	v.table(t)
}

func (v *view) slowest() {
	if v.r.Slowest == nil {
		return
	}
	v.heading("SLOWEST")
	if len(v.r.Slowest) == 0 {
		v.note("none: " + v.whyNoneSlowest())
		return
	}
	v.table(entryTable(v.r.Slowest))
}

// whyNoneSlowest says why no entry is listed.
func (v *view) whyNoneSlowest() string {
	if v.r.Total.Count > 0 {
		return "-top is 0"
	}
	return v.whyNothingRan()
}

func entryTable(entries []*op.Entry) *table {
	t := newTable(names("operation", 0), figures("duration", 0), figures("memory", 5), names("device", 2), figures("rank", 6),
		figures("step", 7), names("output", 8), texts("start", 10), texts("trace", 11), texts("span", 9), names("error", 1))
	for _, e := range entries {
		device := e.DeviceID
		if e.HasDevice() {
			device = deviceName(device)
		}
		t.add(e.Operation, units.Duration(e.Duration), knownBytes(e.MemoryBytes), device, known(e.Rank), known(e.Step),
			shape(e.OutputShape), start(e.Start), traceID(e.TraceID), spanID(e.SpanID), failure(e))
	}
	return t
}

func known(n op.Int) string {
	if !n.Known {
		return absent
	}
	return n.String()
}

func knownBytes(n op.Int) string {
	if !n.Known {
		return absent
	}
	return units.Bytes(n.V)
}

func shape(s op.Shape) string {
	if s == nil {
		return absent
	}
	return s.String()
}

func start(ns op.Int) string {
	if !ns.Known {
		return absent
	}
	return time.Unix(0, ns.V).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

func traceID(id op.TraceID) string {
	if id.IsZero() {
		return absent
	}
	return id.String()
}

func spanID(id op.SpanID) string {
	if id.IsZero() {
		return absent
	}
	return id.String()
}

func failure(e *op.Entry) string {
	switch {
	case !e.Failed:
		return ""
	case e.Error == "":
		return "failed"
	}
	return e.Error
}
