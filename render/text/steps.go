package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/engines"
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

// engines shows the requests that inference engines tell of.
func (v *view) engines() {
	if v.r.Engines == nil || v.Show == nil && len(v.r.Engines) == 0 {
		return
	}
	v.heading("REQUESTS OF ENGINES")
	if len(v.r.Engines) == 0 {
		v.note("no requests: no span has attributes of an engine that is known, nor gen_ai.usage.*")
		return
	}
	v.table(enginesTable(v.r.Engines, v.r.By))
	v.note(enginesNote)
	for i := range v.r.Engines {
		if s := v.r.Engines[i].Slow; s != nil {
			v.note(v.r.Engines[i].Dialect + ": the slowest of " + units.Count(s.Requests) + " slow requests is span " + s.SpanID.String() +
				" of trace " + s.TraceID.String())
		}
	}
}

const enginesNote = "times are medians, p99 that of the column before; ttft: to the first token; tpot: from one token to the next"

// enginesTable returns the table of engines, with a column for each key of theirs.
func enginesTable(rows []engines.Engine, by []string) *table {
	columns := []column{texts("engine", 0), names("service", 9), names("model", 8)}
	for _, name := range by {
		columns = append(columns, names(strings.TrimPrefix(name, "attr:"), 0))
	}
	t := newTable(append(columns, figures("requests", 0), figures("in", 7), figures("out", 6), figures("e2e", 0),
		figures("p99", 2), figures("ttft", 0), figures("p99", 4), figures("tpot", 1),
		figures("queue", 0), figures("p99", 3), figures("prefill", 0),
		figures("decode", 0), figures("execute", 0), figures("other", 5))...)
	for i := range rows {
		e := &rows[i]
		cells := []string{e.Dialect, e.Service.Text, e.Model.Text}
		for _, name := range by {
			cells = append(cells, e.Key[strings.TrimPrefix(name, "attr:")])
		}
		cells = append(cells, units.Count(e.Requests), ifKnown(e.TokensIn, units.Count), ifKnown(e.TokensOut, units.Count))
		for _, of := range []struct {
			times *engines.Times
			p99   bool
		}{
			{e.E2E, true}, {e.TTFT, true}, {e.TPOT, false}, {e.Queue, true},
			{e.Prefill, false}, {e.Decode, false}, {e.Execute, false}, {e.Other, false},
		} {
			median, p99 := "", ""
			if of.times != nil {
				median, p99 = units.Duration(of.times.P50), units.Duration(of.times.P99)
			}
			if cells = append(cells, median); of.p99 {
				cells = append(cells, p99)
			}
		}
		t.add(cells...)
	}
	return t
}
