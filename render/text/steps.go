package text

import (
	"fmt"
	"slices"

	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/internal/units"
)

func (v *view) steps() {
	rows := v.r.Steps
	if rows == nil || v.Show == nil && len(rows) == 0 && v.r.StatedSteps.V == 0 { // not computed, or nothing to say
		return
	}
	v.heading("STEPS")
	switch {
	case len(rows) > 0:
	case v.r.StatedSteps.V == 0:
		v.note("no steps: no operation states one")
		return
	default:
		v.note("no steps: no step holds several operations")
		return
	}
	services := slices.ContainsFunc(rows, func(s steps.Row) bool { return s.Service != rows[0].Service })
	runs := slices.ContainsFunc(rows, func(s steps.Row) bool { return s.Run > 1 })
	t := newTable(names("service", 0), figures("step", 0), figures("run", 0), figures("count", 2), figures("sum", 1),
		figures("wall", 0), figures("busy", 0), texts("phase", 0), figures("tokens", 3), figures("requests", 4), names("range", 5))
	first, last := v.Rows-v.Rows/2, v.Rows/2
	shown, left := rows, len(rows)-v.Rows
	if left > 0 {
		shown = slices.Concat(rows[:first], rows[len(rows)-last:])
	}
	for _, s := range shown {
		service, run := "", ""
		if services {
			service = s.Service
		}
		if runs {
			run = units.Count(s.Run)
		}
		t.add(service, units.Count(s.Step), run, units.Count(s.Count), units.Duration(s.SumNS), knownDuration(s.WallNS), knownDuration(s.BusyNS),
			s.Phase, ifKnown(s.Tokens, units.Count), ifKnown(s.Requests, units.Count), s.Name)
	}
	v.table(t)
	if left > 0 {
		v.note(fmt.Sprintf("… and %s more between the first %d and the last %d", units.Count(int64(left)), first, last))
	}
	if steady := v.r.Steady; steady != nil {
		v.note("steady: " + steadyText(steady))
	}
	if runs {
		v.note("run: iterations of the same number, below different requests or after a restart")
	}
}

func steadyText(s *steps.Steady) string {
	return fmt.Sprintf("steps %s to %s, %s at a median of %s; %s left out", units.Count(s.FirstStep), units.Count(s.LastStep),
		units.Count(s.Steps), units.Duration(s.MedianNS), units.Count(s.LeftOut))
}

// phases shows what the operations are part of.
func (v *view) phases() {
	if len(v.r.Phases) == 0 && v.Show == nil || v.r.Phases == nil {
		return
	}
	v.heading("PHASES")
	if len(v.r.Phases) == 0 {
		v.note("no phases: no operation has one")
		return
	}
	t := newTable(names("phase", 0), figures("steps", 2), figures("count", 3), figures("sum", 0), figures("share", 1), texts("", 4),
		figures("tokens", 2))
	for _, p := range v.r.Phases {
		share := 0.0
		if v.r.Total.SumNS > 0 {
			share = float64(p.SumNS) / float64(v.r.Total.SumNS)
		}
		t.add(p.Phase.String(), units.Count(p.Steps), units.Count(p.Count), units.Duration(p.SumNS), units.Percent(share), bar(share),
			ifKnown(p.Tokens, units.Count))
	}
	v.table(t)
	v.note("steps: those that have operations of the phase; tokens: of the steps that are of it")
}
