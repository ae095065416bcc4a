package text

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/blame"
	"github.com/optrace/optrace/internal/text/units"
)

// blame names the largest culprits. If the section is chosen, it also has tables by culprit and by request.
func (v *correlation) blame() {
	if len(v.c.Blame) == 0 && v.Show == nil || v.empty("BLAME", len(v.c.Blame) == 0, "no request delayed another one") {
		return
	}
	v.delays()
	list := v.c.Culprits
	if v.Show == nil {
		return
	}
	v.heading("BLAME by culprit")
	show(&v.page, "culprit:n|delayed requests|sum|at least:3|at most:3|longest|reason:1", list,
		func(t *table, c *blame.Culprit) {
			t.add(c.Name, units.Count(int64(c.Victims)), units.Duration(c.NS), units.Duration(c.LowNS),
				units.Duration(c.HighNS), units.Duration(c.Longest.NS), string(c.Longest.Reason))
		})
	v.heading("BLAME by request, the slowest first")
	show(&v.page, "request:n|waited|at least:3|at most:3|behind:n1|reason:2", v.c.Blame,
		func(t *table, b *blame.Blame) {
			t.add(b.Victim.Name, units.Duration(b.NS), units.Duration(b.LowNS), units.Duration(b.HighNS), b.Behind,
				string(b.Reason))
		})
	v.note("waited: how much earlier the request ends in a replay without the culprit; the rows of a request add up to " +
		"its waiting. The rest is negative if several culprits cause the same waiting")
}

// delays names the largest culprits in at most three lines, or sentences beside the first screen.
func (v *correlation) delays() {
	const most = 3
	list := v.c.Culprits
	var longest []*blame.Blame
	for i := range list {
		longest = append(longest, &list[i].Longest)
	}
	if v.c.LeftOut.Requests > 0 { // only of the requests asked for
		longest = nil
		for i := range v.c.Blame {
			if v.c.Blame[i].Culprit != nil {
				longest = append(longest, &v.c.Blame[i])
			}
		}
		slices.SortStableFunc(longest, func(a, b *blame.Blame) int { return cmp.Compare(b.NS, a.NS) })
	}
	for _, b := range longest[:min(len(longest), most)] {
		before := v.b.String()
		v.note(b.Text)
		if v.FirstScreen && strings.Count(v.b.String(), "\n") > most {
			v.b.Reset()
			v.b.WriteString(before)
			return
		}
	}
}
