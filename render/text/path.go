package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

func (v *view) slowestRequest() {
	q := v.r.SlowestRequest
	if q == nil || v.r.PathTotals == nil {
		return
	}
	v.heading("SLOWEST REQUEST")
	text := inText(q.Name) + " took " + units.Duration(q.DurationNS)
	text += ifAny(q.Alike-1,
		"; the median of "+units.Plural(q.Alike, "request")+" of the name is "+units.Duration(q.MedianNS))
	v.note(text + ". Trace " + idText(q.TraceID) + ", span " + idText(q.SpanID) + ".")
	for i := range q.Causes {
		v.note(termtext.Clean(q.Causes[i].Text)) // of a report from a file
	}
}

// criticalPath shows the parts of the longest chains of work of traces.
func (v *view) criticalPath() {
	totals := v.r.PathTotals
	if totals == nil {
		return
	}
	if v.empty("CRITICAL PATH", totals.Paths == 0, "no path: "+whyNoPath(totals)) {
		return
	}
	v.note(fmt.Sprintf("%s, %s in all, bound by %s", units.Plural(totals.Paths, "path"),
		units.Duration(totals.DurationNS), boundBy(&totals.BoundBy, totals.DurationNS)))
	v.pathTable()
	v.dragNotes(totals)
	if n := totals.Edges.Links; n > 0 {
		v.note(fmt.Sprintf("to executions that requests share: %s of %s on the paths",
			units.Count(n), units.Plural(n+totals.Edges.Tree, "step")))
	}
}

func whyNoPath(totals *path.Totals) string {
	switch {
	case totals.NoIDs > 0 && totals.NoStart > 0:
		return units.Plural(totals.NoIDs, "record") + " without a trace id, and no root of a trace has a start time"
	case totals.NoIDs > 0:
		return "no operation has a trace id"
	case totals.NoStart > 0:
		return "no root of a trace has a start time"
	}
	return "no operations in the input"
}

// pathTable shows the parts of critical paths by operation, and by device if the report is by device.
func (v *view) pathTable() {
	t := newTable("operation:n|kind:t3|device:n2|time|share|:t1|drag|segments:4")
	add := func(operation, kind, device string, ns int64, share float64, drag op.Int, segments int64) {
		t.add(operation, kind, device, units.Duration(ns), units.Percent(share), bar(share),
			ifKnown(drag, units.Duration), units.Count(segments))
	}
	if v.r.PathOperations == nil || slices.Contains(v.r.By, "device") {
		for _, s := range v.r.CriticalPath {
			device := ""
			if s.DeviceID != "" {
				device = s.Label(v.ranks)
			}
			add(s.Operation, s.Kind, device, s.TimeNS, s.Share, s.DragNS, s.Segments)
		}
	} else {
		for _, o := range v.r.PathOperations {
			add(o.Operation, o.Kind, "", o.TimeNS, o.Share, o.DragNS, o.Segments)
		}
	}
	v.table(t)
}

func (v *view) dragNotes(totals *path.Totals) {
	known := func(p path.Share) bool { return p.DragNS.Known }
	if !slices.ContainsFunc(v.r.CriticalPath, known) {
		return
	}
	text := "drag: how much shorter the paths are if the operation takes no time; what else they wait for then decides"
	var edges []string
	if n := totals.Edges.Stream; n > 0 {
		edges = append(edges, "the order on streams ("+units.Plural(n, "operation")+")")
	}
	if n := totals.Edges.Collective; n > 0 {
		edges = append(edges, "the last to arrive in collectives ("+units.Plural(n, "wait")+")")
	}
	if len(edges) > 0 {
		text += "; beside the tree it goes by " + strings.Join(edges, " and ")
	}
	v.note(text)
}

// boundBy lists the classes of time on the paths, without empty ones.
func boundBy(b *path.BoundBy, total int64) string {
	text := parts(total, []namedTime{
		{"compute", b.ComputeNS}, {"communication", b.CommunicationNS}, {"memory", b.MemoryNS}, {"other", b.OtherNS},
		{"host", b.HostNS}, {"idle", b.IdleNS},
	})
	return cmp.Or(strings.Join(text, ", "), "nothing")
}

type namedTime struct {
	name string
	ns   int64
}

func parts(total int64, all []namedTime) (texts []string) {
	for _, p := range all {
		if p.ns > 0 && total > 0 {
			texts = append(texts, p.name+" "+units.Percent(shareOf(p.ns, total)))
		}
	}
	return texts
}
