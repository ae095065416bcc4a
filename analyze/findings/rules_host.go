package findings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
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

// calls sums up the calls of the host of a class, by name.
type calls struct {
	name       string
	count, sum int64
	within     map[string]int64 // by the operation of the host around them
	ranks      map[op.Int]bool
}

func (c *calls) around() string {
	most := ""
	for name, n := range c.within {
		if n > c.within[most] || n == c.within[most] && name < most {
			most = name
		}
	}
	if 2*c.within[most] < c.count {
		return ""
	}
	return most
}

// callsOf returns the calls of a class that take a time at least, the largest sum first.
func (l *list) callsOf(class func(name string) bool, least int64) []calls {
	if l.Forest == nil {
		return nil
	}
	byName := make(map[string]*calls)
	var hosts []int32
	for i := range l.Forest.Calls {
		c := &l.Forest.Calls[i]
		if !class(c.Name) || c.Duration < least {
			continue
		}
		if hosts == nil {
			hosts = l.hostRows()
		}
		sum := byName[c.Name]
		if sum == nil {
			sum = &calls{name: c.Name, within: make(map[string]int64), ranks: make(map[op.Int]bool)}
			byName[c.Name] = sum
		}
		sum.count++
		sum.ranks[c.Rank] = true
		sum.sum += c.Duration
		if r := l.around(hosts, c); r != trace.NoRow {
			sum.within[l.Forest.RowName(r)]++
		}
	}
	var all []calls
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, *byName[name])
	}
	slices.SortStableFunc(all, func(a, b calls) int { return cmp.Compare(b.sum, a.sum) })
	return all
}

// hostRows returns the operations of hosts by start.
func (l *list) hostRows() []int32 {
	f := l.Forest
	rows := make([]int32, 0, 16)
	for r := range f.Rows() {
		if f.Has(r, trace.FlagHost|trace.FlagStart) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, f.CompareStart)
	return rows
}

// around returns the outermost operation of the host around a call, among the latest to start, or NoRow.
func (l *list) around(hosts []int32, c *trace.Call) int32 {
	const latest = 64
	f := l.Forest
	i := sort.Search(len(hosts), func(i int) bool { return f.Start(hosts[i]) > c.Start })
	outer := trace.NoRow
	for _, r := range slices.Backward(hosts[max(0, i-latest):i]) {
		thread := f.Names.Threads.Values[f.Thread(r)]
		if f.End(r) >= c.Start+c.Duration && (!c.Thread.Known || thread == c.Thread.V) {
			outer = r
		}
	}
	return outer
}

// waits finds calls in which the host waits for a device: several times a step, or once with much to gain.
func (l *list) waits() (all []candidate) {
	const (
		most  = 3
		few   = 10     // without steps
		much  = 10     // the part of the whole
		short = 10_000 // ns, without a wait
	)
	rounds := l.rounds()
	for _, c := range l.callsOf(attrkey.IsWait, short) {
		each := c.count / int64(len(c.ranks))
		if each < rounds || rounds == 0 && each < few || len(all) == most {
			continue
		}
		name := l.named(c.name)
		if around := c.around(); around != "" {
			name = l.named(around) + " (" + name + ")"
		}
		f := says(HostGap, Where{Section: "idle", Operation: c.around()},
			"The host waits for the device %s in %s%s. Meanwhile it launches no further work.",
			units.Plural(each, "time"), name, l.perRound(each))
		f.Evidence = []Evidence{about("call", c.name), times("calls", c.count), lasts("time in the calls", c.sum)}
		f.Try = "keep the value on the device, and read it once every N steps"
		one := candidate{Finding: f, changes: change(replay.NoWait, c.name)}
		if each < 2*rounds {
			one.Try = "wait for the device every N steps only"
			one.isEffect = true
			if !l.replay(&one.saving, one.changes) || one.saving.NS < l.whole/much {
				continue
			}
		}
		all = append(all, one)
	}
	return append(all, l.waitingOperations()...)
}

// waitingOperations finds operations of the host that wait for a device, in recordings without runtime calls.
func (l *list) waitingOperations() (all []candidate) {
	if l.Forest == nil || len(l.callsOf(attrkey.IsWait, 0)) > 0 {
		return nil
	}
	rounds := l.rounds()
	for i := range l.Operations {
		o := &l.Operations[i]
		if o.Side != op.SideHost.String() || !waitsFor(o.Operation) || rounds == 0 || o.Count < 2*rounds {
			continue
		}
		f := says(HostGap, Where{Section: "idle", Operation: o.Operation},
			"The host waits for the device %s in %s%s. Meanwhile it launches no further work.",
			units.Plural(o.Count, "time"), l.named(o.Operation), l.perRound(o.Count))
		f.Evidence = []Evidence{about("operation", o.Operation), times("calls", o.Count), lasts("time in them", o.SumNS)}
		f.Try = "keep the value on the device, and read it once every N steps"
		all = append(all, candidate{Finding: f, changes: change(replay.Remove, o.Operation)})
	}
	return all
}

// waitsFor reports whether an operation of the host reads a value of a device, or waits for it.
func waitsFor(name string) bool {
	plain := strings.TrimPrefix(name, "aten::")
	return plain == "item" || plain == "_local_scalar_dense" || plain == "nonzero" || plain == "synchronize" ||
		attrkey.IsWait(name)
}

// loaders finds operations and ranges of the host that read the input while the devices are idle.
func (l *list) loaders() (all []candidate) {
	if l.Forest == nil {
		return nil
	}
	type loader struct {
		n, all int64
		times  map[op.Int][][2]int64 // by rank
	}
	f := l.Forest
	found := make(map[string]*loader)
	add := func(name string, rank op.Int, start, end int64) {
		x := found[name]
		if x == nil {
			x = &loader{times: make(map[op.Int][][2]int64)}
			found[name] = x
		}
		x.n++
		x.all += end - start
		x.times[rank] = append(x.times[rank], [2]int64{start, end})
	}
	var isInput [2][]bool // by the name of operations and of other spans
	for _, name := range f.Names.Operations.Values {
		isInput[0] = append(isInput[0], attrkey.IsInput(name))
	}
	for _, span := range f.Names.Spans.Values {
		isInput[1] = append(isInput[1], attrkey.IsInput(span.Name))
	}
	for r := range f.Rows() {
		named := isInput[0]
		if !f.Has(r, trace.FlagOp) {
			named = isInput[1]
		}
		if named[f.Name(r)] && f.Has(r, trace.FlagStart) && !f.IsDeviceSide(r) {
			add(f.RowName(r), f.DeviceKey(r).Rank, f.Start(r), f.End(r))
		}
	}
	for i := range f.Calls {
		if c := &f.Calls[i]; attrkey.IsInput(c.Name) {
			add(c.Name, c.Rank, c.Start, c.Start+c.Duration)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		x := found[name]
		ns := timeline.IdleWithin(f, x.times) / l.devicesNum
		if !l.enough(ns) {
			continue
		}
		n := x.n / int64(len(x.times))
		text := says(HostGap, Where{Section: "idle", Operation: name},
			"The device waits %s for input: %s runs %s%s, %s each.", l.part(ns), l.named(name),
			units.Plural(n, "time"), l.perRound(n), units.Duration(x.all/x.n))
		text.Evidence = []Evidence{about("range", name), times("calls", n), lasts("idle meanwhile", ns)}
		text.Try = "load in parallel with the device: more workers (num_workers), prefetch, pinned memory"
		all = append(all, candidate{Finding: text, changes: change(replay.Remove, name), atMost: true})
	}
	return all
}

// isOperator reports whether a name is an operator of a framework, such as aten::add. These launch the work of the
// device and are no pauses.
func isOperator(name string) bool { return strings.Contains(name, "::") }

// pauses finds idle time of devices while the host runs one operation for long, or records nothing.
func (l *list) pauses() (all []candidate) {
	const long = 1_000_000 // ns
	rounds := max(1, l.rounds())
	for _, h := range l.Extent.Host {
		n := l.hostCalls(h)
		isLong := n > 0 && (n <= 2*rounds || h.TimeNS/n >= long)
		launches := slices.ContainsFunc(l.Operators.Rows, func(o operators.Row) bool {
			return o.Operator == h.Operation && o.DeviceTotalNS > 0
		})
		if len(l.Extent.Devices) == 0 || launches || attrkey.IsInput(h.Operation) || isOperator(h.Operation) || !isLong ||
			l.inFirst(h.Longest) || l.isStartUp(h) {
			continue
		}
		where := whereGap(h.Longest, h.Operation)
		f := says(HostGap, where, "The device is idle %s while the host runs %s (%s).", l.part(h.TimeNS/l.devicesNum),
			l.named(h.Operation), units.Plural(n, "time"))
		f.Evidence = []Evidence{about("operation", h.Operation), times("calls", n), lasts("longest idle time", h.Longest.HostNS)}
		f.Try = "run it in the background, or less often"
		all = append(all, candidate{Finding: f, changes: change(replay.Remove, h.Operation), atMost: true})
	}
	return append(all, l.unrecorded()...)
}

// unrecorded finds idle time in which the host recorded nothing, by the place with the most of it.
func (l *list) unrecorded() []candidate {
	var ns int64
	var place *timeline.Place
	for i := range l.Places {
		p := &l.Places[i]
		quiet := min(p.UntracedNS, p.SumNS-p.NoRequestNS)
		ns += quiet
		if p.After != key.Other && (place == nil || quiet > min(place.UntracedNS, place.SumNS-place.NoRequestNS)) {
			place = p
		}
	}
	ns /= l.devicesNum
	if place == nil || !l.enough(ns) {
		return nil
	}
	after := l.named(place.After)
	if 2*place.WaitCount > place.Count && place.Wait != place.After {
		after += " (" + l.named(place.Wait) + ")"
	}
	text := fmt.Sprintf("The device is idle %s while the host runs code that records nothing", l.part(ns))
	where := Where{Section: "idle", Operation: place.After}
	where.FromNS, where.ToNS = op.Known(place.MaxStartNS), op.Known(place.MaxStartNS+place.MaxNS)
	f := says(HostGap, where, "%s: %s after %s, until %s, %s each.%s", text, units.Plural(place.Count, "time"), after,
		l.named(place.Until), units.Duration(place.UntracedNS/place.Count), l.inCalls(ns))
	f.Evidence = []Evidence{
		about("after", place.After), about("until", place.Until), times("gaps", place.Count),
		lasts("nothing recorded", place.UntracedNS),
	}
	f.Try = "profile the host's code between these two operations"
	return []candidate{{Finding: f, changes: change(replay.Pauses, ""), atMost: true}}
}

// inCalls names the host calls during most of an idle time, "" if no call is known.
func (l *list) inCalls(idle int64) string {
	var most []string
	for i := range l.Extent.Calls {
		c := &l.Extent.Calls[i]
		if ns := min(c.TimeNS/l.devicesNum, idle); 10*ns >= idle && len(most) < 3 {
			most = append(most, l.named(c.Operation)+" "+units.Duration(ns))
		}
	}
	if most == nil {
		return ""
	}
	return " Calls meanwhile: " + strings.Join(most, ", ") + "."
}

// isStartUp reports whether the first call of an operation of the host keeps the device waiting, and later calls do not.
func (l *list) isStartUp(h timeline.HostTime) bool {
	return 10*h.FirstNS >= 9*h.TimeNS && l.hostCalls(h) >= 2
}

// startUp finds first calls of the host that later calls do not repeat: contexts, libraries, kernels.
func (l *list) startUp() []candidate {
	var names []string
	ns := l.startUpNS()
	where := Where{Section: "idle"}
	for _, h := range l.Extent.Host {
		if l.isStartUp(h) && !l.inFirst(h.Longest) && len(names) < 3 {
			if names == nil {
				where = whereGap(h.Longest, h.Operation)
			}
			names = append(names, l.named(h.Operation)+" "+units.Duration(h.FirstNS/l.devicesNum))
		}
	}
	if names == nil || len(l.Extent.Devices) == 0 {
		return nil
	}
	f := says(FirstStep, where, "Start-up: the device waits %s for first calls, such as %s. Later calls are fast.",
		l.part(ns), strings.Join(names, ", "))
	f.Evidence = []Evidence{lasts("first calls", ns)}
	f.Try = "warm up, and leave the start out of the recording"
	return []candidate{{Finding: f, saving: replay.Saving{NS: ns}}}
}

// startUpNS returns the time of start-up on each device.
func (l *list) startUpNS() (ns int64) {
	for _, h := range l.Extent.Host {
		if l.isStartUp(h) && !l.inFirst(h.Longest) {
			ns += h.FirstNS
		}
	}
	return ns / l.devicesNum
}

// allocator finds calls inside steps that take and give back memory of a device, with the waits before them.
func (l *list) allocator() []candidate {
	var changes []replay.Change
	var names []string
	var n, ns int64
	for _, c := range l.callsOf(attrkey.IsAllocation, 0) {
		changes = append(changes, replay.Change{Kind: replay.Remove, Select: c.name})
		names = append(names, c.name)
		n += c.count
		ns += c.sum
	}
	if n < max(2*l.rounds(), 10) {
		return nil
	}
	for _, name := range l.waitsBeforeAllocations() {
		changes = append(changes, replay.Change{Kind: replay.NoWait, Select: name})
		names = append(names, name)
	}
	f := says(HostGap, Where{Section: "idle", Operation: names[0]},
		"The loop gives back the device's memory and takes it again: %s of %s%s, %s.",
		units.Plural(n, "call"), strings.Join(names, ", "), l.perRound(n), units.Duration(ns))
	f.Evidence = []Evidence{times("calls", n), lasts("time in the calls", ns)}
	f.Try = "keep the caching allocator's memory: no empty_cache() in the loop"
	return []candidate{{Finding: f, changes: changes}}
}

// waitsBeforeAllocations returns the names of waiting calls mostly followed by an allocation within soon.
func (l *list) waitsBeforeAllocations() (names []string) {
	const soon = 50_000 // ns
	var starts []int64
	for i := range l.Forest.Calls {
		if c := &l.Forest.Calls[i]; attrkey.IsAllocation(c.Name) {
			starts = append(starts, c.Start)
		}
	}
	slices.Sort(starts)
	counts := make(map[string][2]int) // all, followed
	for i := range l.Forest.Calls {
		c := &l.Forest.Calls[i]
		if !attrkey.IsWait(c.Name) {
			continue
		}
		n := counts[c.Name]
		n[0]++
		end := c.Start + c.Duration
		if at, _ := slices.BinarySearch(starts, end); at < len(starts) && starts[at] < end+soon {
			n[1]++
		}
		counts[c.Name] = n
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; 2*n[1] > n[0] {
			names = append(names, name)
		}
	}
	return names
}

// firstStep finds a first step slower than the others.
func (l *list) firstStep() (all []candidate) {
	if s := l.First; s != nil {
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
		}
		all = append(all, c)
	}
	for i := range l.Alike {
		if a := &l.Alike[i]; a.First != nil && l.First == nil {
			f := says(FirstStep, whereRequest(a.First), "The first %s takes %s, the median of the others %s. It is start-up.%s",
				l.named(a.Name), units.Duration(a.First.DurationNS), units.Duration(a.First.MedianNS), cause(a.First))
			f.Try = "leave it out of the figures; send a request before the traffic"
			all = append(all, candidate{Finding: f, saving: replay.Saving{NS: a.First.BeyondNS}})
		}
	}
	return append(all, l.firstExecution()...)
}

// launchBound finds devices that are idle because launches come late from a host that works all the time.
func (l *list) launchBound() []candidate {
	var late, idle int64
	for _, d := range l.IdleCauses.Devices {
		late += d.Host.SumNS
		idle += d.Host.SumNS + d.Queue.SumNS + d.Other.SumNS
	}
	n := int64(0) // operations of the host
	for i := range l.Operations {
		if o := &l.Operations[i]; o.Side == op.SideHost.String() {
			n += o.Count
		}
	}
	late -= l.startUpNS() * l.devicesNum
	if 4*n < l.Total.Count { // the host's operations are not recorded
		return nil
	}
	if late < l.whole*l.devicesNum/10 || 2*late < idle || l.by.HostNS*3 < late {
		return nil
	}
	f := says(Launch, Where{Section: "idle"},
		"Launch bound: the device is idle %s because the host launches too late. It runs %s for %s of the device.",
		l.part(late/l.devicesNum), units.Plural(n, "operation"), units.Count(l.Total.Count))
	f.Evidence = []Evidence{lasts("idle before late launches", late/l.devicesNum), times("operations of the host", n)}
	f.Try = "fewer and larger launches: CUDA graphs, torch.compile, fused optimizers, larger batches"
	return []candidate{{
		Finding: f, changes: []replay.Change{{Kind: replay.Host, Factor: 0.5}}, atMost: true, isGeneral: true,
	}}
}

// shortOperations finds runs of short operations on a stream.
func (l *list) shortOperations() []candidate {
	gaps, most := l.sequenceGaps()
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
	return []candidate{{Finding: f, changes: change(replay.Fuse, replay.ShortRuns)}}
}

func (l *list) each(what string) string {
	if l.devicesNum > 1 {
		return what + " on a device on average"
	}
	return what + " on the device"
}

// hostCalls returns the number of host calls of an operation, 0 if unknown.
func (l *list) hostCalls(h timeline.HostTime) int64 {
	for i := range l.Operations {
		if o := &l.Operations[i]; h.IsOp && o.Operation == h.Operation && o.Side == op.SideHost.String() {
			return o.Count
		}
	}
	return 0
}

// whereGap locates an idle gap. The host ran the operation, if not "", during the gap.
func whereGap(g timeline.HostGap, operation string) Where {
	w := whereDevice("idle", g.Key)
	w.Operation = operation
	w.FromNS, w.ToNS = op.Known(g.StartNS), op.Known(g.StartNS+g.DurationNS)
	return w
}

// inFirst reports whether more than half of a gap lies in a first step with its own finding.
func (l *list) inFirst(g timeline.HostGap) bool {
	if l.First == nil {
		return false
	}
	within := min(g.StartNS+g.DurationNS, l.First.EndNS) - max(g.StartNS, l.First.StartNS)
	return 2*within > g.DurationNS
}

// sequenceGaps returns the time between the operations of repeated sequences, and the sequence with the longest gaps.
func (l *list) sequenceGaps() (gaps int64, most *sequences.Sequence) {
	for i := range l.Sequences.Rows {
		s := &l.Sequences.Rows[i]
		gaps += s.GapNS
		if most == nil || s.GapNS > most.GapNS {
			most = s
		}
	}
	return gaps, most
}
