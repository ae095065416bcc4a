package text

import (
	"strings"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/internal/units"
)

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
	v.table(v.enginesTable(v.r.Engines))
	v.note("times are medians, p99 that of the column before; ttft: to the first token; tpot: from one token to the next")
	for i := range v.r.Engines {
		if s := v.r.Engines[i].Slow; s != nil {
			v.note(v.r.Engines[i].Dialect + ": the slowest of " + units.Count(s.Requests) + " slow requests is span " + s.SpanID.String() +
				" of trace " + s.TraceID.String())
		}
	}
}

// enginesTable returns the table of engines.
func (v *view) enginesTable(rows []engines.Engine) *table {
	columns := []column{texts("engine", 0), names("service", 9), names("model", 8)}
	for _, name := range v.r.By {
		columns = append(columns, names(strings.TrimPrefix(name, "attr:"), 0))
	}
	t := newTable(append(columns, figures("requests", 0), figures("in", 7), figures("out", 6), figures("e2e", 0),
		figures("p99", 2), figures("ttft", 0), figures("p99", 4), figures("tpot", 1), figures("queue", 0), figures("p99", 3), figures("prefill", 0),
		figures("decode", 0), figures("execute", 0), figures("other", 5))...)
	for i := range rows {
		e := &rows[i]
		cells := []string{e.Dialect, e.Service.Text, e.Model.Text}
		for _, name := range v.r.By {
			cells = append(cells, e.Key[strings.TrimPrefix(name, "attr:")])
		}
		cells = append(cells, units.Count(e.Requests), ifKnown(e.TokensIn, units.Count), ifKnown(e.TokensOut, units.Count))
		for _, of := range []struct {
			times *engines.Times
			p99   bool
		}{{e.E2E, true}, {e.TTFT, true}, {e.TPOT, false}, {e.Queue, true}, {e.Prefill, false}, {e.Decode, false}, {e.Execute, false}, {e.Other, false}} {
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
