package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/internal/text/units"
)

func (v *view) steps() {
	rows := v.r.Steps
	if rows == nil || v.Show == nil && len(rows) == 0 && v.r.StatedSteps.V == 0 { // not computed, or empty
		return
	}
	why := "no steps: no step holds several operations"
	if v.r.StatedSteps.V == 0 {
		why = "no steps: no operation states one"
	}
	isEmpty := v.empty("STEPS", len(rows) == 0, why)
	if p := v.r.Pipeline; p != nil {
		v.note(fmt.Sprintf("pipeline: %s ranks idle for %s of %s of %s, between microbatches", units.Count(p.Ranks),
			units.Percent(p.Bubble), units.Duration(p.RankNS/p.Ranks), units.Plural(p.Steps, "step")))
	}
	if isEmpty {
		return
	}
	services := slices.ContainsFunc(rows, func(s steps.Row) bool { return s.Service != rows[0].Service })
	runs := slices.ContainsFunc(rows, func(s steps.Row) bool { return s.Run > 1 })
	first, last := v.Rows-v.Rows/2, v.Rows/2
	shown := rows
	left := len(rows) - v.Rows
	if left > 0 {
		shown = slices.Concat(rows[:first], rows[len(rows)-last:])
	}
	show(&v.page, "service:n|step|run|count:2|sum:1|to next|wall:4|busy|phase:t|tokens:3|requests:4|range:n5", shown,
		func(t *table, s *steps.Row) {
			service := ""
			run := ""
			if services {
				service = s.Service
			}
			if runs {
				run = units.Count(s.Run)
			}
			t.add(service, units.Count(s.Step), run, units.Count(s.Count), units.Duration(s.SumNS),
				knownDuration(s.ToNextNS), knownDuration(s.WallNS), knownDuration(s.BusyNS), s.Phase, ifKnown(s.Tokens, units.Count),
				ifKnown(s.Requests, units.Count), s.Name)
		})
	if left > 0 {
		v.note(fmt.Sprintf("… and %s more between the first %d and the last %d", units.Count(int64(left)), first, last))
	}
	if steady := v.r.Steady; steady != nil {
		v.note("steady: " + steadyText(steady))
	}
	if rows[0].ToNextNS.Known {
		v.note("to next: from the start of a step to that of the next one of its loop")
	}
	if runs {
		v.note("run: iterations of the same number, below different requests or after a restart")
	}
}

func steadyText(s *steps.Steady) string {
	return fmt.Sprintf("steps %s to %s, %s at a median of %s; %s left out", units.Count(s.FirstStep),
		units.Count(s.LastStep), units.Count(s.Steps), units.Duration(s.MedianNS), units.Count(s.LeftOut))
}

func (v *view) phases() {
	if len(v.r.Phases) == 0 && v.Show == nil || v.r.Phases == nil {
		return
	}
	if v.empty("PHASES", len(v.r.Phases) == 0, "no phases: no operation has one") {
		return
	}
	show(&v.page, "phase:n|steps:2|count:3|sum|share:1|:t4|tokens:2", v.r.Phases, func(t *table, p *steps.Phase) {
		share := shareOf(p.SumNS, v.r.Total.SumNS)
		t.add(p.Phase.String(), units.Count(p.Steps), units.Count(p.Count), units.Duration(p.SumNS),
			units.Percent(share), bar(share), ifKnown(p.Tokens, units.Count))
	})
	v.note("steps: those that have operations of the phase; tokens: of the steps that are of it")
}

func (v *view) engines() {
	if v.r.Engines == nil || v.Show == nil && len(v.r.Engines) == 0 {
		return
	}
	if v.empty("REQUESTS OF ENGINES", len(v.r.Engines) == 0,
		"no requests: no span has attributes of an engine that is known, nor gen_ai.usage.*") {
		return
	}
	v.table(enginesTable(v.r.Engines, v.r.By))
	v.note(enginesNote)
	for i := range v.r.Engines {
		if s := v.r.Engines[i].Slow; s != nil {
			v.note(v.r.Engines[i].Dialect + ": the slowest of " + units.Plural(s.Requests, "slow request") + " is span " +
				s.SpanID.String() + " of trace " + s.TraceID.String())
		}
	}
}

const enginesNote = "times are medians, p99 that of the column before; ttft: to the first token; tpot: from one " +
	"token to the next (tgi: with the prefill)"

// enginesTable returns the table of engines, with a column for each key.
func enginesTable(rows []engines.Engine, by []string) *table {
	var keys []string
	for _, name := range by {
		keys = append(keys, strings.TrimPrefix(name, "attr:"))
	}
	t := newTable("requests|in:7|out:6|e2e|p99:2|ttft|p99:4|tpot:1|queue|p99:3|prefill|decode|execute|other:5", keys...)
	t.columns = append(newTable("engine:t|service:n9|model:n8").columns, t.columns...)
	for i := range rows {
		e := &rows[i]
		cells := []string{e.Dialect, e.Service.Text, e.Model.Text}
		for _, key := range keys {
			cells = append(cells, e.Key[key])
		}
		cells = append(cells, units.Count(e.Requests), ifKnown(e.TokensIn, units.Count),
			ifKnown(e.TokensOut, units.Count))
		for column, times := range []*engines.Times{e.E2E, e.TTFT, e.TPOT, e.Queue, e.Prefill, e.Decode, e.Execute,
			e.Other} {
			median := ""
			p99 := ""
			if times != nil {
				median = units.Duration(times.P50)
				p99 = units.Duration(times.P99)
			}
			if cells = append(cells, median); column < 2 || column == 3 { // of others p99 is not shown
				cells = append(cells, p99)
			}
		}
		t.add(cells...)
	}
	return t
}
