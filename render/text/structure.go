package text

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/analyze"
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
		v.launches()
		return
	}
	ranks := v.severalRanks()
	t := newTable("<device", "host", "gaps", "queue", "gaps", "other", "gaps")
	for _, d := range causes.Devices {
		t.add(d.Label(ranks), units.Duration(d.Host.SumNS), units.Count(d.Host.Count),
			units.Duration(d.Queue.SumNS), units.Count(d.Queue.Count), units.Duration(d.Other.SumNS), units.Count(d.Other.Count))
	}
	v.table(t)
	v.note("host: the next operation was launched after the gap began; queue: it was waiting, for less than " +
		units.Duration(causes.ThresholdNS) + "; other: anything else, or no launch is known")
	defer v.launches()
	if len(v.r.Idle) == 0 {
		return
	}
	t = newTable("<longest on", "duration", "<cause", "<after", "<before")
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

// maxPathRows bounds the table of the critical path: beyond it the parts are
// small.
const maxPathRows = 20

// criticalPath shows what the traces' longest chains of work consist of.
func (v *view) criticalPath() {
	totals := v.r.PathTotals
	if totals == nil {
		return
	}
	v.heading("CRITICAL PATH")
	if totals.Paths == 0 {
		v.note("no path: " + whyNoPath(totals))
		return
	}
	v.note(pathText(totals))
	if w := v.r.WithoutSuspects; w != nil && w.PathTotals != nil && pathText(w.PathTotals) != pathText(totals) {
		v.note("without suspect times: " + pathText(w.PathTotals))
	}
	ranks := v.severalRanks()
	t := newTable("<operation", "<kind", "<device", "time", "share", "segments")
	for _, s := range v.r.CriticalPath[:min(len(v.r.CriticalPath), maxPathRows)] {
		device := ""
		if s.DeviceID != "" {
			device = s.Label(ranks)
		}
		t.add(s.Operation, s.Kind, device, units.Duration(s.TimeNS), units.Percent(s.Share), units.Count(s.Segments))
	}
	v.table(t)
	if n := len(v.r.CriticalPath) - maxPathRows; n > 0 {
		v.note(fmt.Sprintf("and %s more with smaller parts", units.Count(int64(n))))
	}
	if n := totals.Edges.Links; n > 0 {
		v.note(fmt.Sprintf("%s of %s on the paths lead to executions that requests share",
			units.Count(n), plural(n+totals.Edges.Tree, "step")))
	}
}

// whyNoPath says what the input lacks for critical paths.
func whyNoPath(totals *analyze.PathTotals) string {
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
func pathText(totals *analyze.PathTotals) string {
	text := fmt.Sprintf("%s, %s in all", pluralOf(totals.Paths, "path", "paths"), units.Duration(totals.DurationNS))
	if bound := boundBy(&totals.BoundBy, totals.DurationNS); bound != "" {
		text += ", bound by " + bound
	}
	return text
}

// boundBy lists what the paths were waiting for, without what they were not.
func boundBy(b *analyze.BoundBy, total int64) string {
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

// maxStepRows bounds the table of steps: beyond it the first and the last are
// shown.
const maxStepRows = 20

func (v *view) steps() {
	steps := v.r.Steps
	if steps == nil { // not computed
		return
	}
	v.heading("STEPS")
	if len(steps) == 0 {
		v.note("no steps: no step holds several operations")
		return
	}
	services, runs := false, false
	for i := range steps {
		services = services || steps[i].Service != steps[0].Service
		runs = runs || steps[i].Run > 1
	}
	t := newTable("<service", "step", "run", "count", "sum", "wall", "busy")
	for i := range steps {
		if len(steps) > maxStepRows && i >= maxStepRows/2 && i < len(steps)-maxStepRows/2 {
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
	if len(steps) > maxStepRows {
		v.note(fmt.Sprintf("the first and the last %d of %s steps; -json and -csv have all", maxStepRows/2, units.Count(int64(len(steps)))))
	}
	if runs {
		v.note("run: iterations of the same number, below different requests or after a restart")
	}
}

// utilisation draws how busy each device was over time.
func (v *view) utilisation() {
	u := v.r.Utilisation
	if u == nil || len(u.Devices) == 0 || u.WidthNS <= 0 {
		return
	}
	ranks := v.severalRanks()
	t := newTable("<device", "<busy over time, "+units.Duration(u.WidthNS)+" a column")
	for _, d := range u.Devices {
		t.addWide(d.Label(ranks), bars(d.BusyNS, u.WidthNS))
	}
	v.table(t)
}

// bars draws a bar for each part of whole.
func bars(parts []int64, whole int64) string {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, p := range parts {
		level := 0
		if p > 0 { // anything shows
			level = 1 + int(float64(p)/float64(whole)*float64(len(levels)-2))
		}
		b.WriteRune(levels[min(level, len(levels)-1)])
	}
	return b.String()
}

func (v *view) severalRanks() bool { return severalRanks(v.r.Devices) }

func nonZero(n int64) string {
	if n == 0 {
		return ""
	}
	return units.Count(n)
}
