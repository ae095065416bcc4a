package executions

import (
	"slices"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/trace"
)

// BeforeCollectives returns, for each collective within shared executions, for how long all other devices wait for the last
// one while that is idle: its host launches late. Differences in computing are no such gaps.
func BeforeCollectives(f *trace.Forest) (g Gaps) {
	idle := make(map[int32]int64) // the longest gap of the device since its collective before, by row
	for _, rows := range f.Devices.All() {
		longest, end := int64(0), int64(0)
		for _, r := range rows {
			if end > 0 {
				longest = max(longest, f.Start(r)-end)
			}
			end = max(end, f.End(r))
			if _, is := trace.CollectiveOf(f.Collectives, r); is {
				idle[r] = longest
				longest = 0
			}
		}
	}
	for parts := range collective.FindJoins(f).All() {
		if len(parts) < 2 || slices.ContainsFunc(parts, func(p collective.Part) bool {
			return !p.Started || f.Executions.Of[p.Row] == trace.NoExecution
		}) {
			continue
		}
		last, before := parts[0], int64(0)
		for _, p := range parts[1:] {
			if p.Start > last.Start {
				last, p = p, last
			}
			before = max(before, p.Start)
		}
		gap := min(last.Start-before, idle[last.Row])
		g.NS += gap
		g.List = append(g.List, gap)
		g.Operations++
	}
	for i := range f.Executions.List {
		g.Steps += f.Duration(f.Executions.List[i].Row)
	}
	return g
}
