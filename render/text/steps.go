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
		figures("wall", 0), figures("busy", 0))
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
		t.add(service, units.Count(s.Step), run, units.Count(s.Count), units.Duration(s.SumNS), knownDuration(s.WallNS), knownDuration(s.BusyNS))
	}
	v.table(t)
	if left > 0 {
		v.note(fmt.Sprintf("… and %s more between the first %d and the last %d", units.Count(int64(left)), first, last))
	}
	if runs {
		v.note("run: iterations of the same number, below different requests or after a restart")
	}
}
