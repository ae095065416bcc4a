package diff

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/internal/text/units"
)

const maxFindings = 3

// findings states the change of the whole time, then the operations that changed it most.
func (r *Report) findings() []findings.Finding {
	if r.Identical {
		const text = "The runs are identical: the same operations at the same times."
		return []findings.Finding{{Kind: findings.Change, Text: text}}
	}
	all := []findings.Finding{{Kind: findings.Change, Text: r.whole()}}
	var changed []*Row
	apart := map[Verdict][]string{}
	names := make([]string, len(r.Rows))
	for i := range r.Rows {
		names[i] = r.Rows[i].Key.String()
	}
	named := make(map[*Row]string)
	for i, name := range requests.NamesInText(names) {
		row := &r.Rows[i]
		named[row] = name
		switch row.Verdict {
		case Slower, Faster:
			changed = append(changed, row)
		case Added, Removed:
			apart[row.Verdict] = append(apart[row.Verdict], name)
		}
	}
	slices.SortStableFunc(changed, func(a, b *Row) int { return int(math.Copysign(1, b.moved()-a.moved())) })
	for i, row := range changed[:min(len(changed), maxFindings)] {
		text := fmt.Sprintf("%s is %s: %s, on average.", named[row], row.by(), row.fromTo())
		if more := len(changed) - i - 1; i == maxFindings-1 && more > 0 {
			text += fmt.Sprintf(" So are, slower or faster, %s more.", units.Count(int64(more)))
		}
		all = append(all, findings.Finding{
			Kind: findings.Operation, Text: text, Where: findings.Where{Operation: row.Key.String()},
		})
	}
	for _, v := range []struct {
		verdict Verdict
		says    string
	}{{Added, "Only the head has"}, {Removed, "Only the base has"}} {
		if names := apart[v.verdict]; len(names) > 0 {
			text := v.says + " " + strings.Join(names[:min(len(names), maxFindings)], ", ")
			if more := len(names) - maxFindings; more > 0 {
				text += fmt.Sprintf(" and %s more", units.Count(int64(more)))
			}
			all = append(all, findings.Finding{Kind: findings.Operation, Text: text + "."})
		}
	}
	if len(all) == 1 && len(r.Rows) > 0 {
		same := 0
		for i := range r.Rows {
			if r.Rows[i].Verdict == Unchanged {
				same++
			}
		}
		are := units.Verb(int64(same), "is", "are")
		text := fmt.Sprintf("No operation is known to be slower or faster: "+
			"%s of %s %s unchanged within %s; of the others it cannot be told.",
			units.Count(int64(same)), units.Count(int64(len(r.Rows))), are, r.bound())
		switch same {
		case 0:
			text = "Of no operation can it be told whether it is slower or faster."
		case len(r.Rows):
			text = fmt.Sprintf("All operations, %s, %s unchanged within %s.", units.Count(int64(same)), are, r.bound())
		}
		all = append(all, findings.Finding{Kind: findings.Operation, Text: text})
	}
	return all
}

func (r *Report) bound() string { return strconv.FormatFloat(100*r.Bound, 'g', 3, 64) + " %" }

// whole states the change of the time from the first start to the last end.
func (r *Report) whole() string {
	unit := "run"
	if r.Base.Steps > 0 && r.Head.Steps > 0 {
		unit = "step"
	}
	i := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Part == partWall })
	switch {
	case r.Base.Entries == 0 || r.Head.Entries == 0:
		return "A side has no operations: nothing was compared."
	case i < 0:
		return "Whether the head is slower is not known: no operation has a start. Durations are compared."
	}
	c := &r.Parts[i].Comparison
	switch c.Verdict {
	case Slower, Faster:
		return fmt.Sprintf("The head is %s: a %s takes %s.", c.by(), unit, c.fromTo())
	case Unchanged:
		return fmt.Sprintf("The head is as fast as the base, within %s: a %s takes %s, %s.",
			r.bound(), unit, c.fromTo(), c.bounds())
	case CannotTell:
		return fmt.Sprintf("Whether the head is slower cannot be told: a %s takes %s, %s.%s",
			unit, c.fromTo(), c.bounds(), c.needs())
	}
	if c.isDependent() {
		return fmt.Sprintf("Whether the head is slower cannot be told: a %s takes %s, but %ss of one run depend on "+
			"one another too much, and count as %.1f independent ones. Several runs a side can tell.",
			unit, c.fromTo(), unit, c.Independent.V)
	}
	return fmt.Sprintf("Whether the head is slower cannot be told from so few %ss: %d in the base and %d in the head.%s",
		unit, c.NBase, c.NHead, c.needs())
}

func (c *Comparison) needs() string {
	switch {
	case !c.Needed.Known:
		return ""
	case c.Verdict == TooFew:
		return fmt.Sprintf(" At least %s %s a side can tell.", units.Count(c.Needed.V), c.Unit)
	}
	return fmt.Sprintf(" About %s %s a side would tell.", units.Count(c.Needed.V), c.Unit)
}

// moved is the time that a row adds to or saves in a run of the head, by its median.
func (r *Row) moved() float64 { return math.Abs(r.ShiftNS.V) * float64(r.HeadCount) }

func (c *Comparison) by() string {
	chance := fmt.Sprintf("p %.3f", c.P.V)
	if c.P.V < 0.0005 {
		chance = "p below 0.001"
	}
	return fmt.Sprintf("%s by %s (%s, %s)", c.Verdict, units.Percent(math.Abs(c.Delta.V)), c.bounds(), chance)
}

func (c *Comparison) fromTo() string {
	return units.DurationFloat(c.HeadNS.V) + " in place of " + units.DurationFloat(c.BaseNS.V)
}

func (c *Comparison) bounds() string {
	if !c.Delta.Known {
		return "of nothing"
	}
	return fmt.Sprintf("between %+.1f %% and %+.1f %%", 100*c.DeltaLow.V, 100*c.DeltaHigh.V)
}
