package findings

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/findings/internal/hostcalls"
	"github.com/optrace/optrace/analyze/findings/internal/turns"
	"github.com/optrace/optrace/analyze/internal/alike"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// alike returns the calls of operations by their shapes, by name.
func (l *list) alike(operations []profile.Operation) map[string][]alike.Calls {
	if l.Forest == nil {
		return nil
	}
	names := make(map[string]bool)
	for i := range operations {
		names[operations[i].Operation] = true
	}
	return alike.Find(l.Forest, names)
}

// unevenCalls finds operations with calls much slower than others of equal shapes. First calls are no such calls.
func (l *list) unevenCalls() (all []candidate) {
	const few = 4 // the part of the time of calls with unlike work, at most: the replay shortens them too
	rows := l.onDevices(op.KindCompute)
	calls := l.alike(rows)
	ofLayers := make(map[string]int64) // the time of slow layers above their like, by operation
	for _, s := range l.slowLayers() {
		ofLayers[s.Operation] += s.Excess()
	}
	for _, o := range rows {
		var more, unlike, most, longest int64
		var worst alike.Calls
		for _, a := range calls[o.Operation] {
			excess, slowest := a.Excess(l.Forest)
			switch {
			case a.IsUnlike || l.Forest.Flops(a.Rows[0]) <= 0 && !a.AreRare(l.Forest):
				unlike += max(0, excess)
			case slowest > 0:
				more += excess
				if excess > most {
					worst, most, longest = a, excess, slowest
				}
			}
		}
		if !l.enough(more/l.devicesNum) || few*unlike > more || few*(more-ofLayers[o.Operation]) < more {
			continue
		}
		f := says(Operation, Where{Section: "operations", Operation: o.Operation},
			"%s takes %s at the median and up to %s for the same work.", l.named(o.Operation),
			units.Duration(worst.Median), units.Duration(longest))
		f.Evidence = []Evidence{
			lasts("median", worst.Median), lasts("longest", longest), times("calls", int64(len(worst.Rest))),
		}
		f.Try = "look at the slow calls: other work on the device, clocks, cold caches"
		all = append(all, candidate{Finding: f, changes: change(replay.Typical, o.Operation)})
	}
	return append(all, l.unevenByLoad(all)...)
}

// unevenByLoad finds operations with rare calls in the steps of an engine that take many times what the load of the step
// explains.
func (l *list) unevenByLoad(has []candidate) (all []candidate) {
	const (
		slower = 4
		rare   = 10
	)
	if !l.byRequest || l.Replay == nil {
		return nil
	}
	var slow []replay.Slow
	var excess int64
	for _, o := range l.Replay().Slow(slower) {
		isKnown := func(c candidate) bool { return c.Where.Operation == o.Operation }
		if o.Calls > 0 && rare*o.Calls <= o.All && !slices.ContainsFunc(has, isKnown) {
			slow = append(slow, o)
			excess += o.ExcessNS
		}
	}
	if len(slow) == 0 || float64(excess) < minShare*float64(l.Total.SumNS) {
		return nil
	}
	slices.SortStableFunc(slow, func(a, b replay.Slow) int { return cmp.Compare(b.ExcessNS, a.ExcessNS) })
	slow = slow[:min(len(slow), maxChanges)]
	o := slow[0]
	f := says(Operation, Where{Section: "operations", Operation: o.Operation},
		"%s takes up to %s in %s of %s, where the load of the step explains %s.", l.named(o.Operation),
		units.Duration(o.LongestNS), units.Count(o.Calls), units.Plural(o.All, "call"), units.Duration(o.UsualNS))
	f.Evidence = []Evidence{
		times("slow calls", o.Calls), times("calls", o.All), lasts("longest", o.LongestNS), lasts("by its load", o.UsualNS),
	}
	if n := int64(len(slow)) - 1; n > 0 {
		f.Text += " " + units.Plural(n, "other operation") + " are slow, too."
	}
	f.Try = "look at the slow calls: other work on the device, clocks, cold caches, unusual inputs of their requests"
	var changes []replay.Change
	for _, o := range slow {
		changes = append(changes, replay.Change{Kind: replay.Typical, Select: o.Operation})
	}
	return []candidate{{Finding: f, changes: changes}}
}

// firstCalls finds operations of devices whose first call takes far longer than later ones of equal shapes. A first step
// has its own finding.
func (l *list) firstCalls() (all []candidate) {
	const (
		others = 3 // on each device
		slower = 4
	)
	f := l.Forest
	if l.byRequest { // the first request, or the first execution, has it
		return nil
	}
	rows := l.onDevices(op.KindCompute)
	calls := l.alike(rows)
	for _, o := range rows {
		var more, first, median, n int64
		where := Where{Section: "operations", Operation: o.Operation}
		for _, a := range calls[o.Operation] {
			for _, r := range a.First {
				ns := f.Duration(r)
				inFirst := l.First != nil && f.Start(r) < l.First.EndNS
				if inFirst || a.IsUnlike || len(a.Rest) < others*len(a.First) || ns < slower*a.Median {
					continue
				}
				n++
				if more += ns - a.Median; ns > first {
					first, median = ns, a.Median
					where.FromNS, where.ToNS = op.Known(f.Start(r)), op.Known(f.End(r))
				}
			}
		}
		if more /= l.devicesNum; !l.enough(more) {
			continue
		}
		var replayed replay.Saving
		if l.replay(&replayed, change(replay.Typical, o.Operation)) {
			more = min(more, max(0, replayed.NS))
		}
		found := says(FirstStep, where, "The first call of %s takes %s, the median of later calls %s. It is start-up.",
			l.named(o.Operation), units.Duration(first), units.Duration(median))
		found.Evidence = []Evidence{lasts("first call", first), lasts("median", median), times("first calls", n)}
		found.Try = "call it once before the loop, or before the traffic"
		all = append(all, candidate{Finding: found, saving: replay.Saving{NS: more}, most: more})
	}
	return all
}

// devicesInTurn finds devices of a program without requests that work one at a time.
func (l *list) devicesInTurn() []candidate {
	t, ok := turns.Find(l.Forest)
	if !ok || !l.enough(t.NS) {
		return nil
	}
	name := t.Operations[0]
	what := l.named(name)
	if len(t.Operations) > 1 {
		what += " and " + units.Plural(int64(len(t.Operations)-1), "other operation")
	}
	f := says(HostGap, Where{Section: "devices", Operation: name},
		"%s take turns: no two of them run %s at once, though by chance they would for %s.",
		units.Plural(int64(t.Devices), "device"), what, l.part(t.ChanceNS))
	f.Evidence = []Evidence{about("operation", name), times("turns", t.Count), lasts("at once by chance", t.ChanceNS)}
	f.Try = "give each device a thread of its own, and no lock around its work"
	return []candidate{{Finding: f, saving: replay.Saving{NS: t.NS, LowNS: t.NS / 2, HighNS: t.NS}}}
}

// findTurns finds calls of requests, or else devices, that run one at a time and wait for each other.
func (l *list) findTurns() (all []candidate) {
	switch {
	case l.Forest == nil:
		return nil
	case !l.byRequest:
		return l.devicesInTurn()
	}
	calls := hostcalls.OfRequests(l.Forest)
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		t, ok := hostcalls.TurnsOf(l.Forest, calls[name])
		if !ok || !l.enough(t.WaitedNS) {
			continue
		}
		f := says(SlowRequest, Where{Section: "critical_path", Operation: name}, "%s", t.Says(l.named(name)))
		f.Rule = "queue"
		f.Evidence = []Evidence{about("operation", name), times("calls that wait", t.Waited), lasts("waits", t.WaitedNS)}
		f.Try = "let more of them run at a time: a lock, or a pool of few workers or connections holds them up"
		all = append(all, candidate{
			Finding: f, changes: change(replay.NoWait, name), before: map[string]int64{name: t.WaitedNS},
		})
	}
	return all
}

// outsideCalls finds requests around others that spend much time in no call: in the code of the program that sends these.
func (l *list) outsideCalls() (all []candidate) {
	if l.Forest == nil || !l.byRequest {
		return nil
	}
	of := executions.OutsideCalls(l.Forest)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		o := of[name]
		if !l.enough(o.NS) {
			continue
		}
		f := says(HostGap, Where{Section: "critical_path", Operation: name},
			"%s %s spend %s outside of the calls below them, %s each.", units.Plural(o.Requests, "request"), l.named(name),
			l.part(o.NS), units.Duration(o.NS/o.Requests))
		f.Evidence = []Evidence{about("span", name), lasts("outside of calls", o.NS)}
		f.Try = "profile what the program does between its calls, and send those side by side that do not need each other"
		all = append(all, candidate{Finding: f, saving: replay.Saving{NS: o.NS, HighNS: o.NS + o.NS/10}, atMost: true})
	}
	return all
}
