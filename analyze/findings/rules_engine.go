package findings

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/alike"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// executionWork is the work of a shared execution: its load, and the sums over its operations.
type executionWork struct {
	alike.Load
	flops, elements int64
	phase           string // of its operations, "" if unknown or several
	fresh           int64  // counts the requests it is the first execution for
}

// isKnown reports whether the work is known. Without weights and shapes, a prompt looks like a token, and only first
// executions of requests are alike.
func (w executionWork) isKnown() bool { return w.Weight > 0 || w.flops > 0 || w.elements > 0 }

// isComparable reports whether an execution with work w takes no more than twice the time of one with work o.
func (w executionWork) isComparable(o executionWork) bool {
	const most = 2
	if !w.isKnown() && w.fresh > most*o.fresh {
		return false
	}
	return w.phase == o.phase && w.Weight <= most*o.Weight && w.Attention <= most*o.Attention &&
		w.Links <= most*o.Links && w.flops <= most*o.flops && w.elements <= most*o.elements
}

// likeness names the common property of executions comparable to one with work w.
func (w executionWork) likeness() string {
	if w.isKnown() {
		return "with at least half of its work"
	}
	return "that begin requests, too,"
}

// executionWorks returns the work of each shared execution, by its number. order has the numbers by start.
func (l *list) executionWorks(order []int) []executionWork {
	f := l.Forest
	works := make([]executionWork, len(f.Executions.List))
	mixed := make([]bool, len(works))
	seen := make([]bool, len(works))
	served := make(map[int32]bool)
	for _, i := range order {
		x := &f.Executions.List[i]
		works[i].Load = alike.LoadOf(x)
		for _, r := range x.Requests {
			if !served[r] {
				works[i].fresh++
			}
			served[r] = true
		}
	}
	for r := range f.Rows() {
		e := f.Executions.Of[r]
		if e == trace.NoExecution || !f.CountsInSums(r) {
			continue
		}
		w := &works[e]
		w.flops += f.Flops(r)
		w.elements += f.Elements(r)
		phase := f.Names.Marks.Values[f.Mark(r)].Phase
		if mixed[e] = mixed[e] || seen[e] && phase != w.phase; mixed[e] {
			phase = ""
		}
		w.phase = phase
		seen[e] = true
	}
	return works
}

// firstExecution finds a first shared execution of an engine, at five times the median of others: with its name and
// phase, and at least half of its work. The requests arriving meanwhile waited for it.
func (l *list) firstExecution() []candidate {
	const (
		others = 8
		slower = 5
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
	works := l.executionWorks(order)
	first := list[order[0]].Row
	work := works[order[0]]
	var durations []int64
	for _, i := range order[1:] {
		if f.RowName(list[i].Row) == f.RowName(first) && work.isComparable(works[i]) {
			durations = append(durations, f.Duration(list[i].Row))
		}
	}
	if len(durations) < others || f.Duration(first) < slower*sketch.Median(durations) {
		return nil
	}
	median := sketch.Median(durations)
	waited, later := l.waitedFor(first, f.Duration(first)-median, order)
	found := says(FirstStep, Where{Section: "critical_path", FromNS: op.Known(f.Start(first)), ToNS: op.Known(f.End(first))},
		"The first step of the engine takes %s, the median of %s %s %s. It is start-up, and requests wait for it.",
		units.Duration(f.Duration(first)), units.Plural(int64(len(durations)), "other"), work.likeness(),
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

// waitedFor returns the time that requests waited for the first execution because it took more than others, and the
// time that those after it waited for their own first execution, up to more for each: their queue may be due to it.
// order has the numbers of executions by start.
func (l *list) waitedFor(first int32, more int64, order []int) (waited, later int64) {
	f := l.Forest
	seen := make(map[int32]bool)
	for _, i := range order {
		x := &f.Executions.List[i]
		for _, r := range x.Requests {
			if seen[r] || int(r) >= f.Len() || !f.Has(r, trace.FlagStart) {
				continue
			}
			seen[r] = true
			if f.Start(r) < f.End(first) {
				waited += min(more, f.End(first)-max(f.Start(r), f.Start(first)))
			} else {
				later += min(more, max(0, f.Start(x.Row)-f.Start(r)))
			}
		}
	}
	return waited, later
}
