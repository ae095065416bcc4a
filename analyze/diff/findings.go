package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

const maxFindings = 3

// findings states the change of the whole, then the operations with the largest changes, devices first.
func (r *Report) findings() []findings.Finding {
	if r.Identical {
		const text = "The runs are identical: the same operations at the same times."
		return []findings.Finding{{Kind: findings.Change, Text: text}}
	}
	all := r.wholes()
	names := make([]string, len(r.Rows))
	for i := range r.Rows {
		names[i] = r.Rows[i].Key.String()
	}
	var changed []*Row
	apart := map[Verdict][]string{}
	added := map[Verdict]float64{}
	named := make(map[*Row]string)
	for i, name := range requests.NamesInText(names) {
		row := &r.Rows[i]
		named[row] = name
		switch {
		case row.Verdict == Slower || row.Verdict == Faster || r.runsMore(row):
			changed = append(changed, row)
		case row.Verdict == Added || row.Verdict == Removed:
			apart[row.Verdict] = append(apart[row.Verdict], name)
			if row.Side == "" {
				added[row.Verdict] += row.AddedNS.V
			}
		}
	}
	slices.SortStableFunc(changed, func(a, b *Row) int {
		return cmp.Or(strings.Compare(a.Side, b.Side), cmp.Compare(math.Abs(b.AddedNS.V), math.Abs(a.AddedNS.V)))
	})
	for i, row := range changed[:min(len(changed), maxFindings)] {
		text := r.changeOf(named[row], row)
		if more := len(changed) - i - 1; i == maxFindings-1 && more > 0 {
			text += fmt.Sprintf(" %s more changed.", units.Count(int64(more)))
		}
		f := r.finding(findings.Operation, text, row.AddedNS, row.P)
		f.Where.Operation = row.Key.String()
		all = append(all, f)
	}
	for _, v := range []struct {
		verdict Verdict
		says    string
	}{{Added, "Only the head has"}, {Removed, "Only the base has"}} {
		if names := apart[v.verdict]; len(names) > 0 {
			text := v.says + " " + listed(names)
			ns := op.Float{Known: added[v.verdict] != 0, V: added[v.verdict]}
			if ns.Known {
				text += ": " + r.ofWhole(ns, op.Float{Known: r.wholeNS > 0, V: ns.V / r.wholeNS}) + " on devices"
			}
			all = append(all, r.finding(findings.Operation, text+".", ns, op.Float{}))
		}
	}
	if len(changed) == 0 && len(apart) == 0 && len(r.Rows) > 0 {
		all = append(all, findings.Finding{Kind: findings.Operation, Text: r.unchanged()})
	}
	return all
}

func (r *Report) finding(kind findings.Kind, text string, added, chance op.Float) findings.Finding {
	f := findings.Finding{Kind: kind, Text: text, Chance: chance}
	if r.wholeNS > 0 && added.Known {
		f.SavedNS = op.Known(int64(max(0, added.V)))
		f.OfNS = op.Known(int64(max(r.wholeNS, r.wholeNS+added.V)))
	}
	return f
}

// runsMore reports whether the number of operations in each step changed by a tenth, and a hundredth of the time.
func (r *Report) runsMore(row *Row) bool {
	if row.BaseCount == 0 || row.HeadCount == 0 || r.per() != "step" || math.Abs(row.AddedShare.V) < 0.01 {
		return false
	}
	times := r.timesEach(row.HeadCount, r.Head.Steps) / r.timesEach(row.BaseCount, r.Base.Steps)
	return times > 1.1 || times < 0.9
}

func (r *Report) timesEach(count int64, steps int) float64 { return float64(count) / float64(steps) }

// changeOf states the time added or saved by an operation, and the reason.
func (r *Report) changeOf(name string, row *Row) string {
	verb := "adds"
	if row.AddedNS.V < 0 {
		verb = "saves"
	}
	text := fmt.Sprintf("%s %s %s", name, verb, r.ofWhole(row.AddedNS, row.AddedShare))
	if row.Verdict == Slower || row.Verdict == Faster {
		text += fmt.Sprintf(": each is %s %s (%s, %s), %s", units.Percent(math.Abs(row.Delta.V)), row.Verdict,
			row.bounds(), row.chance(), row.fromTo())
	}
	if r.runsMore(row) {
		text += fmt.Sprintf(": %.3g operations a step instead of %.3g",
			r.timesEach(row.HeadCount, r.Head.Steps), r.timesEach(row.BaseCount, r.Base.Steps))
	}
	return text + "."
}

func (r *Report) ofWhole(ns, share op.Float) string {
	text := units.DurationFloat(math.Abs(ns.V)) + " per " + r.per()
	if share.Known {
		text += " (" + units.Percent(math.Abs(share.V)) + " of it)"
	}
	return text
}

// unchanged states the absence of known changes.
func (r *Report) unchanged() string {
	same := 0
	for i := range r.Rows {
		if r.Rows[i].Verdict == Unchanged {
			same++
		}
	}
	switch same {
	case 0:
		return "No operation is known to be slower, faster or unchanged."
	case len(r.Rows):
		return fmt.Sprintf("%s, and all unchanged within %s.", units.Plural(int64(same), "operation"), r.bound())
	}
	return fmt.Sprintf("No operation is known to be slower or faster. Unchanged within %s: %s of %s.",
		r.bound(), units.Count(int64(same)), units.Count(int64(len(r.Rows))))
}

func (r *Report) bound() string { return strconv.FormatFloat(100*r.Bound, 'g', 3, 64) + " %" }

// per names the unit of the whole: a step, or else a request, or else a run.
func (r *Report) per() string {
	switch {
	case r.Base.Steps > 0 && r.Head.Steps > 0:
		return "step"
	case r.Base.Requests > 0 && r.Head.Requests > 0:
		return "request"
	}
	return "run"
}

// wholes states the changes of the wall time of steps or runs, and of requests.
func (r *Report) wholes() (all []findings.Finding) {
	if r.Base.Entries == 0 || r.Head.Entries == 0 {
		return []findings.Finding{{Kind: findings.Change, Text: "A side has no operations: no comparison."}}
	}
	subjects := map[string]string{
		partWall: "a " + r.per() + " takes", partRequestP50: "the median of %s is",
		partRequestP95: "the 95th percentile of %s is", partRequestSum: "the sum of %s is",
		partRequestMean: "the mean of %s is",
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		if !p.whole || p.Part == partWall && r.per() == "request" || p.Verdict == TooFew && len(all) > 0 {
			continue
		}
		subject := strings.Replace(subjects[p.Part], "%s", requests.NameInText(p.Request), 1)
		f := r.finding(findings.Change, r.wholeText(subject, p), p.ShiftNS, p.P)
		if n := len(all); n == 0 || all[n-1].Text != f.Text {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		const text = "Inconclusive: no operation has a start. Durations are compared."
		all = []findings.Finding{{Kind: findings.Change, Text: text}}
	}
	return all
}

func (r *Report) wholeText(subject string, p *Part) string {
	c := &p.Comparison
	head := "Inconclusive"
	switch c.Verdict {
	case Slower, Faster:
		head = fmt.Sprintf("The head is %s %s", units.Percent(math.Abs(c.Delta.V)), c.Verdict)
	case Unchanged:
		head = "The head is as fast as the base, within " + r.bound()
	}
	change := fmt.Sprintf("%s: %s %s.", head, subject, c.fromTo())
	switch {
	case c.P.Known && c.Verdict != TooFew:
		return fmt.Sprintf("%s Interval %s, %s, %s.%s", change, c.bounds(), c.chance(), c.samples(), c.needs())
	case c.Verdict == CannotTell:
		return r.speeds(p)
	case c.Unit == UnitRuns && c.NBase == 1 && c.NHead == 1:
		return fmt.Sprintf("Inconclusive: one run per side. Record at least %d per side.", r.leastRuns())
	case c.isDependent() && min(c.NBase, c.NHead) >= minSteps:
		return fmt.Sprintf("%s The %s of a run depend on one another: %s count as %.1f. Record at least %d runs per side.",
			change, c.Unit, units.Count(int64(c.NBase+c.NHead)), c.Independent.V, r.leastRuns())
	}
	least := map[Unit]int{UnitRuns: r.leastRuns(), UnitSteps: 2 * minSteps, unitRequests: 2 * minSteps * c.block}[c.Unit]
	return fmt.Sprintf("%s Only %s. Record at least %d per side.", change, c.samples(), least)
}

// speeds states why a run without one speed is not compared.
func (r *Report) speeds(p *Part) string {
	for i := range r.Parts {
		d := &r.Parts[i]
		if u := d.twoSpeeds(); u != nil && d.Part == partCompute {
			return fmt.Sprintf("Inconclusive: the device ran at two speeds in the %s: %s computes %s a step, and %s from step "+
				"%d. Lock its clock, or record at least %d runs per side.", u.Side, d.Device.Label(true),
				units.DurationFloat(u.BeforeNS), units.DurationFloat(u.AfterNS), u.Value, r.leastRuns())
		}
	}
	u := &p.Unsteady[0]
	verb := "drift"
	if u.TwoSpeeds {
		verb = "have two speeds"
	}
	return fmt.Sprintf("Inconclusive: the %s of the %s %s: %s, and %s from number %d. Record at least %d runs per side.",
		p.Unit, u.Side, verb, units.DurationFloat(u.BeforeNS), units.DurationFloat(u.AfterNS), u.Value, r.leastRuns())
}

// samples names the values behind a comparison and counts them.
func (c *Comparison) samples() string {
	count := units.Count(int64(c.NBase))
	if c.NBase != c.NHead {
		count += " and " + units.Count(int64(c.NHead))
	}
	text := count + " " + string(c.Unit)
	if c.block > 1 {
		text = fmt.Sprintf("%s blocks of %d requests", count, c.block)
	}
	if c.Paired {
		text += " in pairs"
	}
	if c.Unit != UnitRuns {
		text += " of one run"
	}
	return text + " per side"
}

func (c *Comparison) needs() string {
	if !c.Needed.Known {
		return ""
	}
	return fmt.Sprintf(" Record about %s %s per side.", units.Count(c.Needed.V), c.Unit)
}

func (c *Comparison) chance() string {
	if c.P.V < 0.0005 {
		return "p below 0.001"
	}
	return fmt.Sprintf("p %.3f", c.P.V)
}

func (c *Comparison) fromTo() string {
	return units.DurationFloat(c.HeadNS.V) + " instead of " + units.DurationFloat(c.BaseNS.V)
}

func (c *Comparison) bounds() string {
	if !c.Delta.Known {
		return "of nothing"
	}
	return fmt.Sprintf("%+.1f %% to %+.1f %%", 100*c.DeltaLow.V, 100*c.DeltaHigh.V)
}
