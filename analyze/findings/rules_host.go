package findings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/findings/internal/fusible"
	"github.com/optrace/optrace/analyze/findings/internal/hostcalls"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// rounds returns the number of steps of a loop, or of requests without steps; 0 if neither is known.
func (l *list) rounds() int64 {
	if n := int64(len(l.Steps)); n > 0 {
		return n
	}
	n := int64(0)
	for i := range l.Alike {
		n = max(n, l.Alike[i].Count)
	}
	return n
}

// perRound says how often something happens in a step, " (20 a step)", or "".
func (l *list) perRound(n int64) string {
	rounds := int64(len(l.Steps))
	if rounds < 2 || n < rounds {
		return ""
	}
	return fmt.Sprintf(" (%s a step)", units.Count(n/rounds))
}

// isOperator reports whether a name is an operator of a framework, such as aten::add. Most launch the work of the device.
func isOperator(name string) bool { return strings.Contains(name, "::") }

// computedNS returns the idle time of devices, behind the start of the run, in operators that compute on the host.
func (l *list) computedNS() (ns int64) {
	for _, h := range l.Extent.Host {
		if isOperator(h.Operation) && !l.isStartUp(h) && l.computes(h, l.timesCalled(h)) {
			ns += h.TimeNS
			if h.Longest.StartNS == l.Extent.StartNS {
				ns -= h.FirstNS
			}
		}
	}
	return ns
}

// computes reports whether an operator of a framework without work on a device, such as one on the CPU's tensors, runs for
// long in each of n calls while a device is idle. It does not wait for the device, and other operators launch its work.
func (l *list) computes(h timeline.HostTime, n int64) bool {
	return h.IsOp && n > 0 && h.TimeNS >= n*longPause && len(l.launched()) > 0 && l.launched()[h.Operation] == 0 &&
		!attrkey.IsRead(h.Operation) && !hostcalls.HasRule(h.Operation) && !l.isWaiting(h)
}

// launchedNS returns the time of the work of devices that each operation of the host launched.
func (l *list) launchedNS() map[string]int64 {
	launched := make(map[string]int64)
	for i := range l.Operators.Rows {
		o := &l.Operators.Rows[i]
		launched[o.Operator] += o.DeviceTotalNS
	}
	return launched
}

// findPauses finds idle time of devices during a long operation of the host, or without a record of the host.
func (l *list) findPauses() (all []candidate) {
	rounds := max(1, l.rounds())
	named := make(map[string]bool) // ranges
	for _, h := range slices.Concat(l.Extent.Host, l.Extent.Calls) {
		device := "The device"
		idle := h.TimeNS / l.devicesNum
		if h.Longest.HostNS > idle { // others may wait for this one
			device = l.label(h.Longest.Key)
			idle = h.Longest.HostNS
		}
		if !l.enough(idle) {
			continue
		}
		n := l.timesCalled(h)
		isPause := h.IsOp && l.launched()[h.Operation] == 0
		if !isPause && !l.byRequest && h.Longest.HostNS >= longPause {
			// a checkpoint launches copies, and leaves the device idle for long behind each
			calls, computed := timeline.Within(l.Forest, &h)
			n = calls
			isPause = computed == 0
		}
		isLong := n > 0 && (n <= 2*rounds || h.TimeNS/n >= longPause)
		if len(l.Extent.Devices) == 0 || !isPause || l.isLead(h) || attrkey.IsInput(h.Operation) || !h.IsOp && hostcalls.HasRule(h.Operation) ||
			isOperator(h.Operation) && !l.computes(h, n) || !isLong || l.inFirst(h.Longest) || l.isStartUp(h) {
			continue
		}
		where := whereGap(h.Longest, h.Operation)
		f := says(HostGap, where, "%s is idle %s while the host runs %s (%s).", device, l.part(idle),
			l.named(h.Operation), units.Plural(n, "time"))
		f.Evidence = []Evidence{about("operation", h.Operation), times("calls", n), lasts("longest idle time", h.Longest.HostNS)}
		f.Try = "run it in the background, or less often"
		switch {
		case strings.Contains(strings.ToLower(h.Operation), "compil"):
			f.Try = "compile before the loop, and keep what is compiled in a cache"
		case isOperator(h.Operation):
			f.Try = "run it on the device, or in the background while the device works"
		}
		c := candidate{Finding: f, changes: change(replay.Remove, h.Operation), atMost: true}
		if !h.IsOp { // without a known thread a range has no time of its own
			if !l.replay(&c.saving, c.changes) || 2*c.saving.NS < h.TimeNS/l.devicesNum {
				continue
			}
			named[h.Operation] = true
		}
		all = append(all, c)
	}
	all = append(all, l.slowCalls()...)
	if len(l.engineHost()) > 0 { // the same time
		return all
	}
	pauses := l.unrecorded(named)
	var saving replay.Saving
	if between := l.network(); between != nil && pauses != nil && l.replay(&saving, pauses[0].changes) &&
		2*between[0].saving.NS > saving.NS { // the same time
		return all
	}
	return append(all, pauses...)
}

// slowCalls finds spans of requests, with nothing below them, that rarely take many times their usual time, and calls that
// fail and are called again.
func (l *list) slowCalls() (all []candidate) {
	f := l.Forest
	if f == nil || !l.byRequest {
		return nil
	}
	const rare, longer, few = 10, 8, 2
	for _, x := range slices.Concat(hostcalls.SlowOnes(f, longer), hostcalls.FailedOnes(f, longer)) {
		what, more := "slow calls", x.Sum-x.Count*x.Usual
		if x.IsRepeated {
			what, more = "failed calls", x.Sum+x.PauseNS
		}
		if !l.enough(more) || !x.IsRepeated && (x.Count < few || rare*x.Count > x.All) {
			continue
		}
		c := candidate{changes: change(replay.Typical, x.Name), atMost: true}
		if x.Error != "" {
			c.changes, c.saving = nil, replay.Saving{NS: more, HighNS: max(more, x.Sum)}
		}
		if again := change(replay.Remove, "failed="+x.Name); x.IsRepeated && l.replay(&c.saving, again) {
			c.changes, c.atMost = again, false
			c.before = map[string]int64{x.In: x.PauseNS, x.Name: x.Sum}
		}
		text, try := x.Says(l.named)
		c.Finding = says(HostGap, Where{Section: "critical_path", Operation: x.Name}, "%s", text)
		c.Evidence = []Evidence{about("operation", x.Name), times(what, x.Count), lasts("in them", x.Sum), lasts("median", x.Usual)}
		c.Try = try
		all = append(all, c)
	}
	return all
}

// lead finds time before the first operation of a device in which the host runs calls outside operations, such as code
// that prepares the input. Calls that go on then are of the work itself, and others wait for another process.
func (l *list) lead() []candidate {
	var names []string
	ns, calls := l.Extent.Lead()
	calls = slices.DeleteFunc(calls, func(c timeline.HostTime) bool {
		is := hostcalls.IsQuiet(c.Operation) || hostcalls.RunsAt(l.Forest, c.Operation, c.Longest.StartNS+c.Longest.DurationNS)
		if is {
			ns -= c.Longest.HostNS
		}
		return is
	})
	for i := range calls[:min(2, len(calls))] {
		names = append(names, l.named(calls[i].Operation)+" ("+units.Duration(calls[i].Longest.HostNS)+")")
	}
	if names == nil || len(l.Extent.Devices) == 0 || !l.enough(ns) {
		return nil
	}
	f := says(HostGap, Where{Section: "idle"}, "The device waits %s before its first operation, while the host runs %s.",
		l.part(ns), strings.Join(names, ", "))
	f.Try = "prepare the input while the device works on the one before, or on the device"
	return []candidate{{Finding: f, saving: replay.Saving{NS: ns, HighNS: ns}, atMost: true}}
}

// isLead reports whether most of a call is before the first operation of a device: lead has it.
func (l *list) isLead(h timeline.HostTime) bool {
	_, calls := l.Extent.Lead()
	isCall := func(c timeline.HostTime) bool { return c.Operation == h.Operation }
	return !l.byRequest && !h.IsOp && 2*h.Longest.HostNS >= h.TimeNS && slices.ContainsFunc(calls, isCall)
}

// before finds requests with much time on the host before their first operations, and runs with calls there.
func (l *list) before() (all []candidate) {
	if !l.byRequest {
		return l.lead()
	}
	pauses := l.pauses()
	there, others := make(map[string]int64), make(map[string]int64) // that other rules have, by the name of its span
	if l.network() != nil {
		there = executions.WaysThere(l.Forest)
	}
	for _, c := range slices.Concat(pauses, l.takingTurns()) {
		for name, ns := range c.before {
			others[name] += ns
		}
	}
	for i := range l.Alike {
		a := &l.Alike[i]
		most, ns, ways := hostcalls.Rest(a.BeforeIn, there, others)
		isSame := func(c candidate) bool { return c.Evidence[0] == about("operation", most) && c.before == nil }
		if !l.enough(ns) || slices.ContainsFunc(pauses, isSame) { // while the device is idle
			continue
		}
		where := "outside of spans"
		if most != a.Name {
			where = "mostly in " + l.named(most)
		}
		if ns < a.BeforeNS {
			where += ", besides the time of other findings"
		}
		f := says(HostGap, Where{Section: "critical_path", Operation: a.Name},
			"%s spend %s on the host before their first operation, %s each, %s.",
			units.Plural(a.Count, "request")+" "+l.named(a.Name), l.part(ns), units.Duration(ns/a.Count), where)
		f.Evidence = []Evidence{about("span", most), lasts("before the first operation", ns)}
		f.Try = "profile what a request does before it reaches the engine: parsing, tokens, checks, the network"
		c := candidate{Finding: f, changes: change(replay.Early, ""), atMost: true, isGeneral: len(others) > 0, beside: -ways}
		own := candidate{Finding: f, saving: replay.Saving{NS: ns, HighNS: ns + ns/20}, atMost: true} // others may wait less
		switch {
		case !l.replay(&c.saving, c.changes) || 2*c.saving.NS < a.BeforeNS: // of no engine that forms batches
			own.saving.HighNS += a.QueuedNS
			c = own
		case c.saving.NS > a.BeforeNS+a.QueuedNS: // other operations are before the engine
			c = own
		}
		all = append(all, c)
	}
	return all
}

// untraced returns the place with the most idle time in which the host recorded no operation, nil without any, that
// time, and the sum over all places, inRanges of it in ranges and calls that do not wait. Time without a request does not
// count, but that between the steps of a loop does. Without operations of the host, code within a span launched late if the gaps of a place are longer than launches take.
func (l *list) untraced(isRange, named map[string]bool) (place *timeline.Place, most, ns, inRanges int64) {
	for i := range l.Places {
		p := &l.Places[i]
		within := int64(0)
		isLate := !l.byRequest && len(l.hostCalls) == 0 && p.SumNS > p.Count*launchesSoon
		for name, ns := range p.HostNS {
			if isRange[name] || isLate && !named[name] && !hostcalls.HasRule(name) {
				within += ns
			}
		}
		here := p.UntracedNS + within
		if l.betweenNS == 0 {
			here = min(here, p.SumNS-p.NoRequestNS)
		}
		if l.isOfTurns() { // a worker without a request is idle
			here = min(here, p.SumNS-p.EarlyNS)
		}
		if l.inFirst(timeline.HostGap{StartNS: p.MaxStartNS, DurationNS: p.MaxNS}) { // it has its own finding
			here = max(0, here-p.MaxNS*l.devicesNum)
		}
		ns += here
		inRanges += min(here, within)
		if p.After != key.Other && (place == nil || here > most) {
			place, most = p, here
		}
	}
	return place, most, ns, inRanges
}

// unrecorded finds idle time without a record of the host, by the place with the most of it.
func (l *list) unrecorded(named map[string]bool) []candidate {
	isRange := l.ranges(named)
	place, most, ns, inRanges := l.untraced(isRange, named)
	inRanges /= l.devicesNum
	ns /= l.devicesNum
	if place == nil || !l.enough(ns) || !executions.IsWithin(l.Forest, place.MaxStartNS, place.MaxStartNS+place.MaxNS) {
		return nil
	}
	after := l.named(place.After)
	if 2*place.WaitCount > place.Count && place.Wait != place.After {
		after += " (" + l.named(place.Wait) + ")"
	}
	c := candidate{changes: change(replay.Pauses, ""), atMost: true}
	try, reads := "profile the host's code between these two operations", int64(0)
	if read := change(replay.Remove, place.After); attrkey.IsRead(place.After) && l.late == nil { // then the host need not wait
		var alone, both replay.Saving
		c.changes = append(c.changes, read...)
		n := l.rounds() * l.devicesNum
		if l.replay(&alone, read) && l.replay(&both, c.changes) && 2*alone.NS >= both.NS && 2*place.Count >= n { // in one of two steps at least
			if n > 0 && l.hostCalls[place.After] >= 2*n && 20*alone.NS >= 19*both.NS {
				return nil // the reads are the cause
			}
			alone.HighNS = max(alone.HighNS, both.HighNS)
			c.changes, c.saving, c.atMost = read, alone, false
		}
		reads = alone.HighNS
		try += "; read the value once every N steps (alone " + units.Duration(alone.NS) + ")"
	}
	gain := most
	gaps, count, isRare := hostcalls.GapsText(l.Places, place, most, ns*l.devicesNum, after, l.named(place.Until), l.inFirst)
	if (2*inRanges >= ns || l.betweenNS > 0) && l.replay(&c.saving, c.changes) {
		if 2*inRanges >= ns && !isRare { // other ranges have pauses, too
			c.saving.NS = min(c.saving.NS, inRanges*l.devicesNum)
		}
		gain = min(most, c.saving.NS*l.devicesNum)
	}
	isBetween := l.betweenNS > 0 && 2*place.NoRequestNS > gain // the rest may be on no path
	between, of := "", ""
	switch {
	case isBetween && 10*place.NoRequestNS >= 9*most:
		between = " between steps,"
	case isBetween:
		of = ", " + units.Duration(place.NoRequestNS/l.devicesNum) + " of it between steps"
	}
	runs := "code that records nothing"
	if 10*inRanges >= ns {
		runs = "no operation"
	}
	text := fmt.Sprintf("The device is idle %s%s while the host runs %s%s", l.part(ns), between, runs, of)
	if reads > 0 && !isRare && l.devicesNum == 1 { // a replay adds work of other threads that it has for this one
		c.limit = ns + ns/20 + reads
	}
	if isRare {
		try = "look for what stops the host now and then: garbage collection, logs, other processes"
	}
	where := Where{Section: "idle", Operation: place.After}
	where.FromNS, where.ToNS = op.Known(place.MaxStartNS), op.Known(place.MaxStartNS+place.MaxNS)
	c.Finding = says(HostGap, where, "%s: %s.%s", text, gaps, l.inCalls(ns, isRange))
	c.Evidence = []Evidence{
		about("after", place.After), about("until", place.Until), times("gaps", count), lasts("nothing recorded", most),
	}
	if c.Try = try; place.Count == 1 && len(l.Steps) == 0 && !l.byRequest {
		c.Try += "; once, it may be start-up, such as compiling"
	}
	if isBetween {
		c.Try = "prepare the next step, such as its input, while the devices work on this one"
	}
	return []candidate{c}
}

// inCalls names the ranges and calls of the host during most of an idle time, "" if no call is known.
func (l *list) inCalls(idle int64, isRange map[string]bool) string {
	var most []string
	for i := range l.Extent.Calls {
		c := &l.Extent.Calls[i]
		if ns := min(c.TimeNS/l.devicesNum, idle); isRange[c.Operation] && 10*ns >= idle && len(most) < 3 {
			most = append(most, l.named(c.Operation)+" ("+units.Duration(ns)+")")
		}
	}
	if most == nil {
		return ""
	}
	return " Calls meanwhile: " + strings.Join(most, ", ") + "."
}

// launchesSoon is a mean time between launches of a host without other work, in ns.
const launchesSoon = 100_000

// launchBound finds devices idle because of late launches by a busy host.
func (l *list) launchBound() []candidate {
	var late, idle, gaps, queue int64
	for _, d := range l.IdleCauses.Devices {
		late += d.Host.SumNS
		queue += d.Queue.SumNS
		gaps += d.Host.Count
		idle += d.Host.SumNS + d.Queue.SumNS + d.Other.SumNS
	}
	n := int64(0) // operations of the host
	for i := range l.Operations {
		if o := &l.Operations[i]; o.Side == op.SideHost.String() {
			n += o.Count
		}
	}
	others := l.starts().laterNS + l.computedNS() // have their own findings
	if s := l.First; s != nil && s.BusyNS.Known {
		others += l.devicesNum * (s.ToNextNS.V - s.BusyNS.V)
	}
	late -= others
	idle -= others
	isRecorded := 4*n >= l.Total.Count // the host's operations, else only its launches show its work
	if !isRecorded && (l.byRequest || late > gaps*launchesSoon) || isRecorded && l.by.HostNS*3 < late {
		return nil
	}
	if late < l.whole*l.devicesNum/10 || 2*late < idle {
		return nil
	}
	f := says(Launch, Where{Section: "idle"},
		"Launch bound: the device is idle %s because the host launches too late. It runs %s for %s of the device.",
		l.part(late/l.devicesNum), units.Plural(n, "operation"), units.Count(l.Total.Count))
	if !isRecorded {
		f.Text = fmt.Sprintf("Launch bound: the device is idle %s because the host launches too late: %s before %s.",
			l.part(late/l.devicesNum), units.Duration(late/max(1, gaps))+" each", units.Plural(gaps/l.devicesNum, "launch"))
	}
	f.Evidence = []Evidence{lasts("idle before late launches", late/l.devicesNum), times("operations of the host", n)}
	graphs := "CUDA graphs"
	if slices.ContainsFunc(l.Input.Models, func(m string) bool { return strings.HasPrefix(m, "AMD ") }) {
		graphs = "HIP graphs"
	}
	f.Try = "fewer and larger launches: " + graphs + ", torch.compile, fused optimizers, larger batches"
	c := candidate{
		Finding: f, changes: []replay.Change{{Kind: replay.Host, Factor: 0.5}}, atMost: true, isGeneral: true,
	}
	if others > 0 || l.starts().ns > 0 || len(l.IdleCauses.Devices) == 1 { // no others wait for this one
		c.limit = (late + queue) / l.devicesNum
	}
	return []candidate{c}
}

// shortOperations finds runs of short operations on a stream.
func (l *list) shortOperations() []candidate {
	changes := change(replay.Fuse, replay.ShortRuns)
	if bound, known := l.most(changes); known && !l.enough(bound) {
		return nil
	}
	if l.Sequences == nil && l.FindSequences != nil {
		l.Sequences = l.FindSequences()
	}
	gaps, most := fusible.Gaps(l.Sequences)
	if most == nil {
		return nil
	}
	var names []string
	for _, name := range slices.Compact(slices.Clone(most.Operations)) {
		names = append(names, l.named(name))
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	f := says(SmallOperations, Where{Section: "sequences", Operation: most.Operations[0]},
		"%s run one behind the other, with gaps of %s. %s repeats %s.",
		units.Plural(l.Sequences.RunOperations, "short operation"), l.part(gaps/l.devicesNum), strings.Join(names, " → "),
		units.Plural(most.Rounds, "time"))
	f.Evidence = []Evidence{times("operations in short runs", l.Sequences.RunOperations), lasts("gaps", gaps/l.devicesNum)}
	f.Try = "fuse them into one kernel, or launch them as a graph"
	return []candidate{{
		Finding: f, changes: changes, atMost: !hostcalls.TimesLaunches(l.Forest), isGeneral: true,
	}}
}

func (l *list) each(what string) string {
	if l.devicesNum > 1 {
		return what + " on a device on average"
	}
	return what + " on the device"
}

// timesCalled returns the number of host calls of an operation, 0 if unknown.
func (l *list) timesCalled(h timeline.HostTime) int64 {
	if !h.IsOp {
		return 0
	}
	return l.hostCalls[h.Operation]
}

// whereGap locates an idle gap. The host ran the operation, if not "", during the gap.
func whereGap(g timeline.HostGap, operation string) Where {
	w := whereDevice("idle", g.Key)
	w.Operation = operation
	w.FromNS, w.ToNS = op.Known(g.StartNS), op.Known(g.StartNS+g.DurationNS)
	return w
}
