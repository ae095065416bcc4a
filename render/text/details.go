package text

import (
	"cmp"
	"fmt"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

func (v *view) memory() {
	m := &v.r.Memory
	v.heading("MEMORY")
	text := fmt.Sprintf("%s above %s", units.Plural(m.HotspotCount, "entry"), units.Bytes(m.ThresholdBytes))
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
	show(&v.page, "copies:n|count:2|sum|memory:1|bandwidth", m.Copies, func(t *table, c *profile.Copy) {
		t.add(c.Direction, units.Count(c.Count), units.Duration(c.SumNS), known(c.MemoryBytes, units.Bytes),
			knownFloat(c.BytesPerSecond, units.BytesPerSecond))
	})
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

func (v *view) errors() {
	if v.r.Errors == nil || v.Show == nil && len(v.r.Errors)+len(v.r.SpanErrors) == 0 {
		return
	}
	if !v.empty("ERRORS", len(v.r.Errors) == 0, "no operation ended with an error") {
		v.table(errorsTable("operation", v.r.Errors))
	}
	if len(v.r.SpanErrors) > 0 {
		v.note("requests and other spans:")
		v.table(errorsTable("span", v.r.SpanErrors))
	}
}

func errorsTable(of string, rows []profile.Error) *table {
	t := newTable(of+":n|side:t3|count|first:t2|trace:t4|span:t5", "error")
	for i := range rows {
		e := &rows[i]
		t.add(errorText(e.Text), e.Operation, e.Side, units.Count(e.Count), known(e.First.StartNS, startText),
			idText(e.First.TraceID), idText(e.First.SpanID))
	}
	return t
}

func errorText(text string) string { return cmp.Or(text, "(no text)") }

func (v *view) entryTable(entries []*op.Entry) {
	const columns = "operation:n|duration|memory:5|device:n2|rank:6|step:7|output:n8|start:t10|trace:t11|span:t9" +
		"|error:n1"
	show(&v.page, columns, entries, func(t *table, at **op.Entry) {
		e := *at
		device := e.DeviceID
		shape := absent
		failure := ""
		if e.HasDevice() {
			device = deviceName(device)
		}
		if e.OutputShape != nil {
			shape = e.OutputShape.String()
		}
		if e.Failed {
			failure = cmp.Or(e.Error, "failed")
		}
		t.add(e.Operation, units.Duration(e.Duration), known(e.MemoryBytes, units.Bytes), device,
			known(e.Rank, decimal),
			known(e.Step, decimal), shape, known(e.Start, startText), idText(e.TraceID), idText(e.SpanID), failure)
	})
}
