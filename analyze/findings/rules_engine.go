package findings

import (
	"slices"

	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// firstExecution finds a first shared execution of an engine, at five times the median of others, ten times that of a few:
// with its name and phase, and at least half of its work. The requests arriving meanwhile waited for it.
func (l *list) firstExecution() []candidate {
	const (
		others, few        = 8, 3
		slower, muchSlower = 5, 10
	)
	if l.Forest == nil || !l.byRequest || len(l.Forest.Executions.List) <= others {
		return nil
	}
	f := l.Forest
	list := f.Executions.List
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return f.CompareStart(list[a].Row, list[b].Row) })
	works := executions.Works(f, order)
	first := list[order[0]].Row
	work := works[order[0]]
	var durations []int64
	for _, i := range order[1:] {
		if f.RowName(list[i].Row) == f.RowName(first) && work.IsComparable(works[i]) {
			durations = append(durations, f.Duration(list[i].Row))
		}
	}
	least := int64(slower)
	if len(durations) < others {
		least = muchSlower
	}
	if len(durations) < few || f.Duration(first) < least*sketch.Median(durations) {
		return nil
	}
	median := sketch.Median(durations)
	waited, later := executions.WaitedFor(f, first, f.Duration(first)-median, order)
	found := says(FirstStep, Where{Section: "critical_path", FromNS: op.Known(f.Start(first)), ToNS: op.Known(f.End(first))},
		"The first step of the engine takes %s, the median of %s %s %s. It is start-up, and requests wait for it.",
		units.Duration(f.Duration(first)), units.Plural(int64(len(durations)), "other"), work.Likeness(),
		units.Duration(median))
	found.Evidence = []Evidence{lasts("first step", f.Duration(first)), lasts("requests waited", waited)}
	found.Try = "warm the engine up before the traffic"
	c := candidate{Finding: found, changes: change(replay.Warm, "")}
	if !l.replay(&c.saving, c.changes) || c.saving.NS < waited/2 { // batches are not formed again
		c.changes = nil
		c.saving = replay.Saving{NS: waited, HighNS: waited + later}
		c.atMost = true
	}
	return []candidate{c}
}
