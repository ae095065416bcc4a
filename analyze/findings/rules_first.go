package findings

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/findings/internal/hostcalls"
	"github.com/optrace/optrace/analyze/findings/internal/stepload"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// isStartUp reports whether the first call of an operation of the host keeps the device waiting, and later calls do not,
// or the only one before a run that is short beside it. A wait for the device is none.
func (l *list) isStartUp(h timeline.HostTime) bool {
	n := l.timesCalled(h)
	isFirst := n >= 2 && 10*h.FirstNS >= 9*h.TimeNS
	isOnly := n == 1 && h.Longest.StartNS == l.Extent.StartNS && 10*(l.whole-h.Longest.HostNS) <= h.Longest.HostNS
	return (isFirst || isOnly) && !l.isWaiting(h)
}

// isWaiting reports whether the host waits for a device in most of an operation's longest time.
func (l *list) isWaiting(h timeline.HostTime) bool {
	return 2*timeline.WaitNS(l.Forest, h.Longest.StartNS, h.Longest.StartNS+h.Longest.DurationNS) > h.Longest.HostNS
}

// loadsLong is the least time of a launch that loads a kernel, in ns. Others take some microseconds.
const loadsLong = 200_000

// loads returns the idle time of devices during launches that load kernels, and the longest of these. Calls of the host
// with start-up have theirs.
func (l *list) loads(calls []timeline.HostTime) (ns int64, longest hostcalls.Range) {
	times := make(map[op.Int][][2]int64)
	for _, h := range hostcalls.Loads(l.Forest, loadsLong) {
		isPart := func(c timeline.HostTime) bool {
			return h.Start < c.Longest.StartNS+c.Longest.DurationNS && c.Longest.StartNS < h.End
		}
		gap := timeline.HostGap{StartNS: h.Start, DurationNS: h.End - h.Start}
		if h.Start < l.Extent.StartNS || l.inFirst(gap) || slices.ContainsFunc(calls, isPart) {
			continue
		}
		times[h.Rank] = append(times[h.Rank], [2]int64{h.Start, h.End})
		if h.End-h.Start > longest.End-longest.Start {
			longest = h
		}
	}
	if len(times) == 0 {
		return 0, longest
	}
	return timeline.IdleWithin(l.Forest, times), longest
}

// startUp finds slow first calls of the host with fast later ones: contexts, libraries, kernels.
func (l *list) startUp() []candidate {
	s := l.starts()
	if len(s.names) == 0 {
		return nil
	}
	waits := "the device waits %s for"
	if len(l.Extent.Devices) == 0 {
		waits = "the host spends %s in"
	}
	f := says(FirstStep, s.where, "Start-up: "+waits+" first calls, such as %s.",
		l.part(s.ns/l.devicesNum), strings.Join(s.names, ", "))
	f.Evidence = []Evidence{lasts("first calls", s.ns/l.devicesNum)}
	f.Try = "warm up, and leave the start out of the recording"
	return []candidate{{Finding: f, saving: replay.Saving{NS: s.ns / l.devicesNum}}}
}

// starts is the start-up in slow first calls, summed over devices. laterNS of it is behind the start of the run.
type starts struct {
	ns, laterNS int64
	names       []string // of the longest calls
	where       Where
}

// findStarts finds the slow first calls of the host, and the launches that load kernels.
func (l *list) findStarts() (s starts) {
	s.where = Where{Section: "idle"}
	var calls []timeline.HostTime
	for _, h := range l.Extent.Host {
		if !l.isStartUp(h) || l.inFirst(h.Longest) {
			continue
		}
		calls = append(calls, h)
		s.ns += h.FirstNS
		if h.Longest.StartNS > l.Extent.StartNS {
			s.laterNS += h.FirstNS
		}
		if len(calls) == 1 {
			s.where = whereGap(h.Longest, h.Operation)
		}
		if len(calls) <= 3 && 10*h.FirstNS >= calls[0].FirstNS {
			s.names = append(s.names, l.named(h.Operation)+" ("+units.Duration(h.FirstNS/l.devicesNum)+")")
		}
	}
	ns, longest := l.loads(calls)
	if ns > 0 && l.enough(ns/l.devicesNum) {
		s.ns += ns
		s.laterNS += ns
		s.names = append(s.names, "the launch of "+l.named(longest.Name)+" ("+units.Duration(longest.End-longest.Start)+")")
	}
	return s
}

// firstStep finds a first step slower than the others.
func (l *list) firstStep() (all []candidate) {
	isOfStep := l.First != nil && (!l.byRequest || l.Forest == nil) // steps of servers begin as requests come, beside each other
	if s := l.First; isOfStep {
		more := s.ToNextNS.V - s.MedianNS
		f := says(FirstStep, Where{Section: "steps", FromNS: op.Known(s.StartNS), ToNS: op.Known(s.EndNS)},
			"The first step takes %s, the median of %s %s. It is start-up.", units.Duration(s.ToNextNS.V),
			units.Plural(int64(s.Others), "other"), units.Duration(s.MedianNS))
		f.Evidence = []Evidence{lasts("first step", s.ToNextNS.V), lasts("median", s.MedianNS)}
		f.Try = "leave it out of the figures with -steady; warm up before measuring"
		c := candidate{Finding: f, changes: change(replay.Warm, "")}
		if l.byRequest || !l.replay(&c.saving, c.changes) || 2*c.saving.NS < more {
			c.changes = nil
			c.saving = replay.Saving{NS: more}
			if !l.byRequest {
				c.saving.LowNS = more
				c.saving.HighNS = more
			}
		}
		all = append(all, c)
	}
	engine := l.firstExecution()
	others := len(l.longPrompts()) > 0 // delay requests
	for i := range l.Alike {
		a := &l.Alike[i]
		if a.First != nil && !isOfStep && engine == nil && !executions.IsHeavy(l.Forest, a.First) && !others {
			beyond := a.First.BeyondNS
			if more, known := stepload.Extra(l.Steps); known && !l.byRequest { // a step goes on behind its span
				beyond = min(beyond, more)
			}
			if 2*beyond < a.First.BeyondNS {
				continue
			}
			queue := ""
			if a.QueuedNS > 0 {
				queue = " without their queue"
			}
			f := says(FirstStep, whereRequest(a.First),
				"The first %s takes %s, the median of the others %s%s. It is start-up.%s", l.named(a.Name),
				units.Duration(a.First.DurationNS), units.Duration(a.First.MedianNS), queue, cause(a.First))
			f.Try = "leave it out of the figures; send a request before the traffic"
			c := candidate{Finding: f, changes: change(replay.Warm, "")}
			if !l.replay(&c.saving, c.changes) || 2*c.saving.NS < beyond { // of no engine that serves one after the other
				c.changes = nil
				c.saving = replay.Saving{NS: beyond, HighNS: beyond} // others may wait for it
				if l.byRequest {
					c.saving.HighNS += a.QueuedNS
				}
				c.atMost = true
			}
			all = append(all, c)
		}
	}
	return append(all, engine...)
}

// inFirst reports whether more than half of a gap lies in a first step with its own finding.
func (l *list) inFirst(g timeline.HostGap) bool {
	if l.First == nil {
		return false
	}
	within := min(g.StartNS+g.DurationNS, l.First.EndNS) - max(g.StartNS, l.First.StartNS)
	return 2*within > g.DurationNS
}

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
