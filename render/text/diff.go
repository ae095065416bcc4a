package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
)

// WriteDiff renders r to w with one call of Write.
func WriteDiff(w io.Writer, r *diff.Report, opts Options) error {
	v := &comparison{newPage(opts), r}
	for i := range r.Findings {
		v.field([]string{"verdict", ""}[min(i, 1)], termtext.Clean(r.Findings[i].Text), false)
	}
	v.envelope()
	v.parts()
	v.rows("OPERATIONS", func(side string) bool { return side == "" })
	v.rows("HOST", func(side string) bool { return side != "" })
	return v.writeTo(w)
}

type comparison struct {
	page
	r *diff.Report
}

func (v *comparison) envelope() {
	for _, side := range []struct {
		name string
		of   diff.Side
	}{{"base", v.r.Base}, {"head", v.r.Head}} {
		text := fmt.Sprintf("%s: %s, %s", units.Plural(int64(side.of.Runs), "run"), units.Plural(side.of.Files, "file"),
			units.Plural(side.of.Entries, "operation"))
		text += ifAny(int64(side.of.Steps), ", "+units.Plural(int64(side.of.Steps), "step"))
		text += ifAny(side.of.LeftOut, " of the steady state, "+units.Plural(side.of.LeftOut, "other")+" left out")
		v.field(side.name, text, false)
	}
	v.field("compared", fmt.Sprintf("%s; Mann–Whitney U test, p-values adjusted for %s (Holm), α %s; "+
		"unchanged is within %s %%", cmp.Or(unitText[v.r.Unit], "single operations"),
		units.Plural(int64(v.r.Tests), "test"), strconv.FormatFloat(v.r.Alpha, 'g', 3, 64),
		strconv.FormatFloat(100*v.r.Bound, 'g', 3, 64)), false)
	counts := make(map[diff.Verdict]int64)
	for i := range v.r.Rows {
		counts[v.r.Rows[i].Verdict]++
	}
	var found []string
	for _, verdict := range diff.Verdicts() {
		if n := counts[verdict]; n > 0 {
			found = append(found, units.Count(n)+" "+verdictText(verdict))
		}
	}
	if len(found) == 0 {
		found = []string{"no operations"}
	}
	v.field("found", strings.Join(found, ", "), counts[diff.Slower] > 0)
	for _, w := range v.r.Warnings {
		v.field("doubt", w, true)
	}
}

// unitText describes the compared values; single operations are not listed.
var unitText = map[diff.Unit]string{
	diff.UnitRuns: "means of runs", diff.UnitSteps: "means of steps",
}

func verdictText(v diff.Verdict) string {
	if v == diff.TooFew {
		return "too few to tell"
	}
	return strings.ReplaceAll(string(v), "_", " ")
}

// rows writes the operations of one side.
func (v *comparison) rows(title string, of func(side string) bool) {
	rows := slices.DeleteFunc(slices.Clone(v.r.Rows), func(r diff.Row) bool { return !of(r.Side) })
	if len(rows) == 0 && (len(v.r.Rows) > 0 || !of("")) || v.empty(title, len(rows) == 0, "no operations") {
		return
	}
	var keys []string
	for _, k := range rows[0].Key.Keys {
		keys = append(keys, k.String())
	}
	t := comparisonTable(keys, "side")
	for i := range rows {
		row := &rows[i]
		change := ""
		if row.BaseCount != row.HeadCount {
			change = "→ " + units.Count(row.HeadCount)
		}
		t.addComparison(append(keyNames(row.Key, len(keys)), row.Side), &row.Comparison,
			units.Count(row.BaseCount), change, strings.Join(row.Mixes, ", "))
	}
	v.table(t)
	v.note("durations of one operation, geometric means; ~ is no proven change; intervals are by the row alone")
}

// partNames writes parts of a device's time as the report does.
var partNames = strings.NewReplacer("_communication", " comm", "_memory", " mem")

func (v *comparison) parts() {
	if len(v.r.Parts) == 0 {
		return
	}
	v.heading("TIME")
	t := comparisonTable([]string{"device"}, "part")
	ranks := slices.ContainsFunc(v.r.Parts, func(p diff.Part) bool { return p.Device != nil && p.Device.Rank.Known })
	for i := range v.r.Parts {
		p := &v.r.Parts[i]
		device := "all"
		part, isRequest := strings.CutPrefix(p.Part, "request_")
		switch {
		case isRequest:
			device = "requests"
		case p.Device != nil:
			device = p.Device.Label(ranks)
		}
		t.addComparison([]string{device, partNames.Replace(part)}, &p.Comparison, "", "", "")
	}
	v.table(t)
	per := "by run: wall is from the first start to the last end"
	if v.r.Base.Steps > 0 && v.r.Head.Steps > 0 {
		per = "by step: wall is from its start to the start of the next"
	}
	v.note(per)
}

// comparisonTable returns a table of comparisons with columns for keys and a text in front.
func comparisonTable(keys []string, text string) *table {
	return newTable(text+":t|base|head|change|:t2|p:1|n:2|count:3|:4|differs in:n5|:t", keys...)
}

func (t *table) addComparison(names []string, c *diff.Comparison, count, countChange, mixes string) {
	change := absent
	interval := ""
	p := absent
	verdict := verdictText(c.Verdict)
	if c.P.Known {
		if p = fmt.Sprintf("%.3f", c.P.V); c.P.V < 0.0005 {
			p = "<0.001"
		}
		if change = "~"; c.Verdict.Changed() && c.Delta.Known {
			change = fmt.Sprintf("%+.1f %%", 100*c.Delta.V)
		}
		if c.DeltaLow.Known && c.Verdict != diff.TooFew {
			interval = fmt.Sprintf("[%+.1f %%, %+.1f %%]", 100*c.DeltaLow.V, 100*c.DeltaHigh.V)
		}
	}
	switch {
	case len(c.Unsteady) > 0 && c.Unsteady[0].TwoSpeeds:
		verdict = "two levels"
	case len(c.Unsteady) > 0:
		verdict = "drifts"
	case c.Verdict == diff.CannotTell && c.Needed.Known:
		verdict += ", " + units.Count(c.Needed.V) + " " + string(c.Unit) + " would"
	}
	t.add(append(names, knownFloat(c.BaseNS, units.DurationFloat), knownFloat(c.HeadNS, units.DurationFloat), change,
		interval, p, fmt.Sprintf("%d+%d", c.NBase, c.NHead), count, countChange, mixes, verdict)...)
}
