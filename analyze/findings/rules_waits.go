package findings

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

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

// callsOf returns the calls of a class with a sum of at least a time, the largest first.
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

// waits finds the host's waiting calls for a device: several a step, or a single long one.
func (l *list) waits() (all []candidate) {
	const (
		most  = 3
		few   = 10     // without steps
		much  = 10     // the part of the whole
		short = 10_000 // ns, without a wait
	)
	rounds := l.rounds()
	var ofCopies []string // waits for copies of pageable memory: slowCopies has them
	for _, o := range l.pageableCopies() {
		ofCopies = append(ofCopies, o.Operation)
	}
	ofCopies = l.waitsAfter(ofCopies...)
	for _, c := range l.callsOf(attrkey.IsWait, short) {
		if slices.Contains(ofCopies, c.name) {
			continue
		}
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
		if around := c.around(); attrkey.IsRead(around) { // without the read its copy and its calls go, too
			one.changes = change(replay.Remove, around)
		}
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

// waitingOperations finds operations of the host waiting for a device, in recordings without runtime calls.
func (l *list) waitingOperations() (all []candidate) {
	if l.Forest == nil || len(l.callsOf(attrkey.IsWait, 0)) > 0 {
		return nil
	}
	rounds := l.rounds()
	ranks := make(map[op.Int]bool)
	for i := range l.Devices {
		ranks[l.Devices[i].Rank] = true
	}
	for i := range l.Operations {
		o := &l.Operations[i]
		each := o.Count / max(1, int64(len(ranks)))
		if o.Side != op.SideHost.String() || !attrkey.IsRead(o.Operation) || rounds == 0 || each < 2*rounds {
			continue
		}
		f := says(HostGap, Where{Section: "idle", Operation: o.Operation},
			"The host waits for the device %s in %s%s. Meanwhile it launches no further work.",
			units.Plural(each, "time"), l.named(o.Operation), l.perRound(each))
		f.Evidence = []Evidence{about("operation", o.Operation), times("calls", o.Count), lasts("time in them", o.SumNS)}
		f.Try = "keep the value on the device, and read it once every N steps"
		kind := replay.Remove
		if l.Launches.Count == 0 { // the operation may have other work
			kind = replay.NoWait
		}
		all = append(all, candidate{Finding: f, changes: change(kind, o.Operation)})
	}
	return all
}

// allocator finds allocations and releases of device memory inside steps, with the waits before them.
func (l *list) allocator() []candidate {
	var changes []replay.Change
	var names []string
	var n, ns int64
	for _, c := range l.allocations() {
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

// allocations returns the longest allocations and releases, also as operations of the host.
func (l *list) allocations() []calls {
	all := l.callsOf(attrkey.IsAllocation, 0)
	f := l.Forest
	if f == nil {
		return nil
	}
	number := make(map[int32]int) // in all, by the name of the operation
	for i, name := range f.Names.Operations.Values {
		if attrkey.IsAllocation(name) {
			number[int32(i)] = len(all)
			all = append(all, calls{name: name})
		}
	}
	for r := range f.Rows() {
		if i, is := number[f.Name(r)]; is && f.Has(r, trace.FlagOp|trace.FlagHost) {
			all[i].count++
			all[i].sum += f.Duration(r)
		}
	}
	all = slices.DeleteFunc(all, func(c calls) bool { return c.count == 0 })
	slices.SortStableFunc(all, func(a, b calls) int { return cmp.Compare(b.sum, a.sum) })
	return all[:min(len(all), maxChanges)]
}

// waitsBeforeAllocations returns the names of waiting calls mostly followed by an allocation.
func (l *list) waitsBeforeAllocations() []string {
	var starts []int64
	for i := range l.Forest.Calls {
		if c := &l.Forest.Calls[i]; attrkey.IsAllocation(c.Name) {
			starts = append(starts, c.Start)
		}
	}
	return l.waitsNear(starts, func(c *trace.Call) int64 { return c.Start + c.Duration })
}

// waitsAfter returns the names of calls mostly waiting behind the launch of one of operations.
func (l *list) waitsAfter(operations ...string) []string {
	if l.Forest == nil {
		return nil
	}
	var ends []int64 // below 0, as the nearest before a call is the next of the negated times
	for r := range l.Forest.Rows() {
		if l.Forest.Has(r, trace.FlagLaunch) && slices.Contains(operations, l.Forest.RowName(r)) {
			ends = append(ends, -l.Forest.Launched(r))
		}
	}
	return l.waitsNear(ends, func(c *trace.Call) int64 { return -c.Start })
}

// waitsNear returns the names of waiting calls mostly followed soon by one of times.
func (l *list) waitsNear(times []int64, own func(*trace.Call) int64) (names []string) {
	const soon = 50_000 // ns
	slices.Sort(times)
	counts := make(map[string][2]int) // all, near
	for i := range l.Forest.Calls {
		c := &l.Forest.Calls[i]
		if !attrkey.IsWait(c.Name) {
			continue
		}
		n := counts[c.Name]
		n[0]++
		if at, _ := slices.BinarySearch(times, own(c)); at < len(times) && times[at] < own(c)+soon {
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
