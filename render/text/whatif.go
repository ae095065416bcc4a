package text

import (
	"fmt"
	"io"
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/internal/text/units"
)

// WriteWhatIf renders r to w with one call of Write.
func WriteWhatIf(w io.Writer, r *analyze.WhatIf, opts Options) error {
	v := &prediction{newPage(opts), r}
	v.changes()
	v.times()
	v.bounds()
	return v.writeTo(w)
}

type prediction struct {
	page
	r *analyze.WhatIf
}

func (v *prediction) changes() {
	v.field("input", fmt.Sprintf("%s, %s: %s", units.Plural(v.r.Input.Files, "file"), units.Bytes(v.r.Input.Bytes),
		units.Plural(v.r.Input.Entries, "entry")), false)
	v.faults(&v.r.Input)
	for _, c := range v.r.Changes {
		switch c.Kind {
		case replay.Host:
			v.field("change", c.String(), false)
		case replay.Chunk:
			v.field("change", fmt.Sprintf("%s (prompts in %s)", c, units.Plural(c.Count, "step")), false)
		case replay.Replicas:
			v.field("change", fmt.Sprintf("%s (%s)", c, units.Plural(c.Count, "request")), false)
		default:
			v.field("change", fmt.Sprintf("%s (%s)", c, units.Plural(c.Count, "operation")), false)
		}
	}
	if !v.r.Known {
		v.field("unknown", fmt.Sprintf("For %s of the run operations waited without a recorded reason: these gains are "+
			"not known.", units.Percent(v.r.Unexplained)), true)
	}
}

// columns returns the columns of a table, those of the prediction only with a change.
func (v *prediction) columns(recorded, predicted string) string {
	if len(v.r.Changes) == 0 {
		return recorded
	}
	return recorded + predicted
}

// cells returns the cells of a row, without a change the first n.
func (v *prediction) cells(n int, cells ...string) []string {
	if len(v.r.Changes) == 0 {
		return cells[:n]
	}
	return cells
}

func (v *prediction) times() {
	v.heading("TIMES")
	t := newTable(v.columns(":t|recorded", "|predicted|saved|from|to"))
	row := func(name string, before, after, low, high int64) {
		saved := units.Duration(before - after)
		if before > 0 && after != before {
			saved += " (" + units.Percent(float64(before-after)/float64(before)) + ")"
		}
		from, to := "", ""
		if low != high {
			from = units.Duration(low)
			to = units.Duration(high)
		}
		t.add(v.cells(2, name, units.Duration(before), units.Duration(after), saved, from, to)...)
	}
	run := v.r.Run
	row("run", run.NS, run.ReplayedNS, run.LowNS, run.HighNS)
	if q := v.r.Requests; q != nil {
		row("requests, sum", q.SumNS, q.ReplayedSumNS, q.LowSumNS, q.HighSumNS)
		row("requests, p50", q.P50NS, q.ReplayedP50NS, 0, 0)
		row("requests, p95", q.P95NS, q.ReplayedP95NS, 0, 0)
	}
	if s := v.r.Steps; s != nil {
		row("step, p50", s.P50NS, s.ReplayedP50NS, 0, 0)
	}
	v.table(t)
}

func (v *prediction) bounds() {
	v.heading("WHAT THE RUN WAITS FOR")
	t := newTable(v.columns(":t|recorded|share", "|predicted|share"))
	find := func(parts []replay.Part, name string) (p replay.Part) {
		for _, p := range parts {
			if p.Name == name {
				return p
			}
		}
		return p
	}
	add := func(name string) {
		a, b := find(v.r.Bound, name), find(v.r.ReplayedBound, name)
		t.add(v.cells(3, name, units.Duration(a.NS), units.Percent(a.Share), units.Duration(b.NS), units.Percent(b.Share))...)
	}
	for _, p := range v.r.Bound {
		add(p.Name)
	}
	for _, p := range v.r.ReplayedBound {
		if find(v.r.Bound, p.Name).Name == "" {
			add(p.Name)
		}
	}
	v.table(t)
	switch b := v.r.Batches; {
	case b != nil:
		v.note(fmt.Sprintf("Batches of %s are formed again. Without a change, this makes the requests take %s, recorded are %s.",
			units.Plural(b.Executions, "execution"), units.Duration(b.FormedSumNS), units.Duration(b.SumNS)))
	case slices.ContainsFunc(v.r.Changes, func(c replay.Applied) bool { return c.Kind == replay.Host }):
		v.note("Shared executions keep their requests.")
	case len(v.r.Changes) > 0:
		v.note("Time of the host without a record stays as recorded, and shared executions keep their requests.")
	}
}
