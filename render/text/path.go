package text

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/internal/units"
	"github.com/optrace/optrace/op"
)

// pathTable returns the table of what critical paths consist of: by operation, and by
// device too where the report is by device.
func (v *view) pathTable() *table {
	if v.r.PathOperations == nil || slices.Contains(v.r.By, "device") {
		return v.pathByDevice()
	}
	t := newTable(names("operation", 0), texts("kind", 2), figures("time", 0), figures("share", 0), texts("", 1), figures("drag", 0),
		figures("segments", 3))
	for i := range v.r.PathOperations {
		o := &v.r.PathOperations[i]
		t.add(o.Operation, o.Kind, units.Duration(o.TimeNS), units.Percent(o.Share), bar(o.Share), drag(o.DragNS), units.Count(o.Segments))
	}
	return t
}

func (v *view) pathByDevice() *table {
	ranks := v.severalRanks()
	t := newTable(names("operation", 0), texts("kind", 3), names("device", 2), figures("time", 0), figures("share", 0), texts("", 1),
		figures("drag", 0), figures("segments", 4))
	for _, s := range v.r.CriticalPath {
		device := ""
		if s.DeviceID != "" {
			device = s.Label(ranks)
		}
		t.add(s.Operation, s.Kind, device, units.Duration(s.TimeNS), units.Percent(s.Share), bar(s.Share), drag(s.DragNS),
			units.Count(s.Segments))
	}
	return t
}

// drag returns the cell of a drag: nothing where it is not known.
func drag(ns op.Int) string {
	if !ns.Known {
		return ""
	}
	return units.Duration(ns.V)
}

// dragNotes says what the drag is and what it goes by.
func (v *view) dragNotes(totals *path.Totals) {
	known := func(p path.Share) bool { return p.DragNS.Known }
	if !slices.ContainsFunc(v.r.CriticalPath, known) {
		return
	}
	text := "drag: how much shorter the paths are if the operation takes no time; what else they wait for then decides"
	var edges []string
	if n := totals.Edges.Stream; n > 0 {
		edges = append(edges, "the order on streams ("+plural(n, "operation")+")")
	}
	if n := totals.Edges.Collective; n > 0 {
		edges = append(edges, "the last to arrive in collectives ("+plural(n, "wait")+")")
	}
	if len(edges) > 0 {
		text += "; beside the tree it goes by " + strings.Join(edges, " and ")
	}
	v.note(text)
}

// slowestRequest says what the slowest request waited for.
func (v *view) slowestRequest() {
	q := v.r.SlowestRequest
	if q == nil {
		return
	}
	v.heading("SLOWEST REQUEST")
	text := termtext.Shorten(termtext.Clean(q.Name), maxInText) + " took " + units.Duration(q.DurationNS)
	if q.Alike > 1 {
		text += "; the median of " + units.Count(q.Alike) + " requests of the name is " + units.Duration(q.MedianNS)
	}
	v.note(text + ". Trace " + traceID(q.TraceID) + ", span " + spanID(q.SpanID) + ".")
	for i := range q.Causes {
		v.note(termtext.Clean(q.Causes[i].Text)) // of a report from a file
	}
}
