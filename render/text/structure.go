package text

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/internal/units"
)

// idle shows why devices had nothing to do, and the longest times of it.
func (v *view) idle() {
	causes := v.r.IdleCauses
	if causes == nil {
		return
	}
	v.heading("IDLE")
	if len(causes.Devices) == 0 {
		v.note("no gaps: " + v.whyNoGaps())
		return
	}
	ranks := v.severalRanks()
	t := newTable(names("device", 0), figures("host", 0), figures("gaps", 1), figures("queue", 0), figures("gaps", 1), figures("other", 0),
		figures("gaps", 1))
	for _, d := range causes.Devices {
		t.add(d.Label(ranks), units.Duration(d.Host.SumNS), units.Count(d.Host.Count),
			units.Duration(d.Queue.SumNS), units.Count(d.Queue.Count), units.Duration(d.Other.SumNS), units.Count(d.Other.Count))
	}
	v.table(t)
	v.note("host: the next operation was launched after the gap began; queue: it was waiting, for less than " +
		units.Duration(causes.ThresholdNS) + "; other: anything else, or no launch is known")
	if len(v.r.Idle) == 0 {
		return
	}
	t = newTable(names("longest on", 0), figures("duration", 0), texts("cause", 0), names("after", 1), names("before", 2))
	for _, g := range v.r.Idle {
		t.add(g.Label(ranks), units.Duration(g.DurationNS), string(g.Cause), g.After, g.Before)
	}
	v.table(t)
}

// whyNoGaps says why no device idled.
func (v *view) whyNoGaps() string {
	switch {
	case v.r.Total.Count == 0:
		return v.whyNothingRan()
	case !v.r.Total.WallNS.Known:
		return "no operation has a start time"
	}
	if v.r.WithoutSuspects != nil {
		return "every device was busy from its first operation to its last, suspect times included"
	}
	return "every device was busy from its first operation to its last"
}

// criticalPath shows what the traces' longest chains of work consist of.
func (v *view) criticalPath() {
	totals := v.r.PathTotals
	if totals == nil {
		return
	}
	v.slowestRequest()
	v.heading("CRITICAL PATH")
	if totals.Paths == 0 {
		v.note("no path: " + whyNoPath(totals))
		return
	}
	v.note(pathText(totals))
	if w := v.r.WithoutSuspects; w != nil && w.PathTotals != nil && pathText(w.PathTotals) != pathText(totals) {
		v.note("without suspect times: " + pathText(w.PathTotals))
	}
	v.table(v.pathTable())
	v.dragNotes(totals)
	if n := totals.Edges.Links; n > 0 {
		v.note(fmt.Sprintf("%s of %s on the paths lead to executions that requests share",
			units.Count(n), plural(n+totals.Edges.Tree, "step")))
	}
}

// whyNoPath says what the input lacks for critical paths.
func whyNoPath(totals *path.Totals) string {
	switch {
	case totals.NoIDs > 0 && totals.NoStart > 0:
		return plural(totals.NoIDs, "record") + " without a trace id, and no root of a trace has a start time"
	case totals.NoIDs > 0:
		return "no operation has a trace id"
	case totals.NoStart > 0:
		return "no root of a trace has a start time"
	}
	return "no operations in the input"
}

// pathText sums the critical paths up.
func pathText(totals *path.Totals) string {
	text := fmt.Sprintf("%s, %s in all", pluralOf(totals.Paths, "path", "paths"), units.Duration(totals.DurationNS))
	if bound := boundBy(&totals.BoundBy, totals.DurationNS); bound != "" {
		text += ", bound by " + bound
	}
	return text
}

// boundBy lists what the paths were waiting for, without what they were not.
func boundBy(b *path.BoundBy, total int64) string {
	var parts []string
	for _, p := range []struct {
		name string
		ns   int64
	}{
		{"compute", b.ComputeNS}, {"communication", b.CommunicationNS}, {"memory", b.MemoryNS}, {"other", b.OtherNS},
		{"host", b.HostNS}, {"idle", b.IdleNS},
	} {
		if p.ns > 0 && total > 0 {
			parts = append(parts, p.name+" "+units.Percent(float64(p.ns)/float64(total)))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func (v *view) steps() {
	steps := v.r.Steps
	if steps == nil { // not computed
		return
	}
	if v.all && len(steps) == 0 && v.r.StatedSteps.V == 0 {
		return
	}
	v.heading("STEPS")
	if len(steps) == 0 {
		v.note("no steps: " + v.whyNoSteps())
		return
	}
	services, runs := false, false
	for i := range steps {
		services = services || steps[i].Service != steps[0].Service
		runs = runs || steps[i].Run > 1
	}
	t := newTable(names("service", 0), figures("step", 0), figures("run", 0), figures("count", 2), figures("sum", 1),
		figures("wall", 0), figures("busy", 0))
	first, last := v.rows-v.rows/2, v.rows/2
	for i := range steps {
		if len(steps) > v.rows && i >= first && i < len(steps)-last {
			continue
		}
		s := &steps[i]
		service, run := "", ""
		if services {
			service = s.Service
		}
		if runs {
			run = units.Count(s.Run)
		}
		t.add(service, units.Count(s.Step), run, units.Count(s.Count), units.Duration(s.SumNS), knownDuration(s.WallNS), knownDuration(s.BusyNS))
	}
	v.table(t)
	if n := len(steps) - v.rows; n > 0 {
		v.note(fmt.Sprintf("… and %s more between the first %d and the last %d", units.Count(int64(n)), first, last))
	}
	if runs {
		v.note("run: iterations of the same number, below different requests or after a restart")
	}
}

// whyNoSteps says what the input lacks for steps.
func (v *view) whyNoSteps() string {
	if v.r.StatedSteps.V == 0 {
		return "no operation states one"
	}
	return "no step holds several operations"
}

// utilisation draws how busy each device was over time.
func (v *view) utilisation() {
	u := v.r.Utilisation
	if u == nil || len(u.Devices) == 0 || u.WidthNS <= 0 {
		return
	}
	ranks := v.severalRanks()
	buckets := 0
	for _, d := range u.Devices {
		buckets = max(buckets, len(d.BusyNS))
	}
	together := v.together(buckets, leastName)
	t := newTable(names("device", 0), texts("busy over time, "+units.Duration(u.WidthNS*int64(together))+" a column", 0))
	for _, d := range u.Devices {
		t.add(d.Label(ranks), strip(d.BusyNS, u.WidthNS, together))
	}
	v.table(t)
}

func (v *view) severalRanks() bool { return severalRanks(v.r.Devices) }

func nonZero(n int64) string {
	if n == 0 {
		return ""
	}
	return units.Count(n)
}
