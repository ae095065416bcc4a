// Package hostcalls sums up the calls of the host: waits, allocations, and what is around them.
package hostcalls

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// Calls sums up the calls of the host of a class, by name.
type Calls struct {
	Name                string
	Count, Sum, Longest int64
	Last                int64            // the latest start
	within              map[string]int64 // by the operation of the host around them
	Ranks               map[op.Int]bool
}

// Around returns the operation around most of the calls, "" without one.
func (c *Calls) Around() string {
	most := ""
	for name, n := range c.within {
		if n > c.within[most] || n == c.within[most] && name < most {
			most = name
		}
	}
	if 2*c.within[most] < c.Count {
		return ""
	}
	return most
}

// Of returns the calls of a class with a sum of at least a time, the largest first.
func Of(f *trace.Forest, class func(name string) bool, least int64) []Calls {
	if f == nil {
		return nil
	}
	byName := make(map[string]*Calls)
	var hosts []int32
	for i := range f.Calls {
		c := &f.Calls[i]
		if !class(c.Name) || c.Duration < least {
			continue
		}
		if hosts == nil {
			hosts = rowsOfHosts(f)
		}
		sum := byName[c.Name]
		if sum == nil {
			sum = &Calls{Name: c.Name, within: make(map[string]int64), Ranks: make(map[op.Int]bool)}
			byName[c.Name] = sum
		}
		sum.Count++
		sum.Ranks[c.Rank] = true
		sum.Sum += c.Duration
		sum.Longest = max(sum.Longest, c.Duration)
		sum.Last = max(sum.Last, c.Start)
		if r := around(f, hosts, c); r != trace.NoRow {
			sum.within[f.RowName(r)]++
		}
	}
	var all []Calls
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, *byName[name])
	}
	slices.SortStableFunc(all, func(a, b Calls) int { return cmp.Compare(b.Sum, a.Sum) })
	return all
}

// rowsOfHosts returns the operations of hosts by start.
func rowsOfHosts(f *trace.Forest) []int32 {
	rows := make([]int32, 0, 16)
	for r := range f.Rows() {
		if f.Has(r, trace.FlagHost|trace.FlagStart) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, f.CompareStart)
	return rows
}

// LongestPause says between which operations of a host the longest time is, "" without any.
func LongestPause(f *trace.Forest, named func(string) string) string {
	if f == nil {
		return ""
	}
	last := trace.NoRow // to end
	longest, ns := [2]int32{}, int64(0)
	for _, r := range rowsOfHosts(f) {
		if last != trace.NoRow && f.Start(r)-f.End(last) > ns {
			longest, ns = [2]int32{last, r}, f.Start(r)-f.End(last)
		}
		if last == trace.NoRow || f.End(r) > f.End(last) {
			last = r
		}
	}
	if ns == 0 {
		return ""
	}
	return " Its longest part is " + units.Duration(ns) + ", after " + named(f.RowName(longest[0])) + ", until " +
		named(f.RowName(longest[1])) + "."
}

// around returns the outermost operation of the host around a call, among the latest to start, or NoRow.
func around(f *trace.Forest, hosts []int32, c *trace.Call) int32 {
	const latest = 64
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

// Allocations returns the longest allocations and releases, also as operations of the host.
func Allocations(f *trace.Forest, most int) []Calls {
	all := Of(f, attrkey.IsAllocation, 0)
	if f == nil {
		return nil
	}
	number := make(map[int32]int) // in all, by the name of the operation
	for i, name := range f.Names.Operations.Values {
		if attrkey.IsAllocation(name) {
			number[int32(i)] = len(all)
			all = append(all, Calls{Name: name})
		}
	}
	for r := range f.Rows() {
		if i, is := number[f.Name(r)]; is && f.Has(r, trace.FlagOp|trace.FlagHost) {
			all[i].Count++
			all[i].Sum += f.Duration(r)
			all[i].Longest = max(all[i].Longest, f.Duration(r))
			all[i].Last = max(all[i].Last, f.Start(r))
		}
	}
	all = slices.DeleteFunc(all, func(c Calls) bool { return c.Count == 0 })
	slices.SortStableFunc(all, func(a, b Calls) int { return cmp.Compare(b.Sum, a.Sum) })
	return all[:min(len(all), most)]
}

// WaitsBeforeAllocations returns the names of waiting calls mostly followed by an allocation.
func WaitsBeforeAllocations(f *trace.Forest) []string {
	var starts []int64
	for i := range f.Calls {
		if c := &f.Calls[i]; attrkey.IsAllocation(c.Name) {
			starts = append(starts, c.Start)
		}
	}
	return waitsNear(f, starts, func(start, ns int64) int64 { return start + ns })
}

// WaitsAfter returns the names of calls mostly waiting behind the launch of one of operations.
func WaitsAfter(f *trace.Forest, operations ...string) []string {
	if f == nil {
		return nil
	}
	var ends []int64 // below 0, as the nearest before a call is the next of the negated times
	for r := range f.Rows() {
		if f.Has(r, trace.FlagLaunch) && slices.Contains(operations, f.RowName(r)) {
			ends = append(ends, -f.Launched(r))
		}
	}
	return waitsNear(f, ends, func(start, _ int64) int64 { return -start })
}

// waitsNear returns the names of waiting calls and operations of the host, mostly followed soon by one of times.
func waitsNear(f *trace.Forest, times []int64, own func(start, ns int64) int64) (names []string) {
	const soon = 50_000 // ns
	slices.Sort(times)
	counts := make(map[string][2]int) // all, near
	count := func(name string, start, ns int64) {
		if !attrkey.IsWait(name) {
			return
		}
		n := counts[name]
		n[0]++
		if at, _ := slices.BinarySearch(times, own(start, ns)); at < len(times) && times[at] < own(start, ns)+soon {
			n[1]++
		}
		counts[name] = n
	}
	for i := range f.Calls {
		c := &f.Calls[i]
		count(c.Name, c.Start, c.Duration)
	}
	for r := range f.Rows() {
		if f.Has(r, trace.FlagHost) {
			count(f.RowName(r), f.Start(r), f.Duration(r))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; 2*n[1] > n[0] {
			names = append(names, name)
		}
	}
	return names
}

// Range is a range, a span, an operation or a call of the host.
type Range struct {
	Name       string
	Rank       op.Int
	Start, End int64
}

// Ranges returns the ranges with names of a class.
func Ranges(f *trace.Forest, class func(name string) bool) (all []Range) {
	var is [2][]bool // by the name of operations and of other spans
	for _, name := range f.Names.Operations.Values {
		is[0] = append(is[0], class(name))
	}
	for _, span := range f.Names.Spans.Values {
		is[1] = append(is[1], class(span.Name))
	}
	rankOf := timeline.RankOf(f)
	for r := range f.Rows() {
		named := is[0]
		if !f.Has(r, trace.FlagOp) {
			named = is[1]
		}
		isPlaced := f.Flags(r)&(trace.FlagStart|trace.FlagRepeat) == trace.FlagStart
		if named[f.Name(r)] && isPlaced && !f.IsDeviceSide(r) {
			all = append(all, Range{f.RowName(r), rankOf(r), f.Start(r), f.End(r)})
		}
	}
	for i := range f.Calls {
		if c := &f.Calls[i]; class(c.Name) {
			all = append(all, Range{c.Name, c.Rank, c.Start, c.Start + c.Duration})
		}
	}
	return all
}

// quiet matches calls that wait for another thread or process.
var quiet = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:wait|acquire|poll|select|recv|sleep|lock|join)(?:[^a-z]|$)`)

// IsQuiet reports whether a call of the host only waits, by its name.
func IsQuiet(call string) bool { return quiet.MatchString(call) }

// RunsAt reports whether a call of a name runs at a time.
func RunsAt(f *trace.Forest, name string, at int64) bool {
	return slices.ContainsFunc(f.Calls, func(c trace.Call) bool {
		return c.Name == name && c.Start <= at && at < c.Start+c.Duration
	})
}

// Loads returns the launches that load the code of a kernel: the first of its name on a device, ten times as long as the
// next one of that name. Launches of several operations at once, as of a graph, are none.
func Loads(f *trace.Forest, least int64) (all []Range) {
	const longer = 10
	if f == nil {
		return nil
	}
	for k, rows := range f.Devices.All() {
		first := make(map[int32]int32) // by name
		next := make(map[int32]int64)  // how long the launch behind it took
		launched := make(map[int64]int)
		for _, r := range slices.Backward(rows) {
			if f.Has(r, trace.FlagLaunch) && f.Kind(r) == op.KindCompute {
				if last, is := first[f.Name(r)]; is {
					next[f.Name(r)] = f.Launched(last) - f.Launch(last)
				}
				first[f.Name(r)] = r
				launched[f.Launch(r)]++
			}
		}
		for name, r := range first {
			ns := f.Launched(r) - f.Launch(r)
			if ns >= least && ns >= longer*next[name] && launched[f.Launch(r)] == 1 {
				all = append(all, Range{f.RowName(r), k.Rank, f.Launch(r), f.Launched(r)})
			}
		}
	}
	slices.SortFunc(all, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Rank.V, b.Rank.V), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Forwards returns the number of forward passes of PyTorch's DistributedDataParallel, and how many of them have a collective
// behind them, before the next one of their rank. A pass within another is of a module of the same model.
func Forwards(f *trace.Forest) (n, reduced int64) {
	begins := make(map[op.Int][]int64)
	ends := make(map[op.Int]int64)
	all := Ranges(f, func(name string) bool { return name == "DistributedDataParallel.forward" })
	slices.SortStableFunc(all, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	for _, h := range all {
		if last, is := ends[h.Rank]; is && h.Start < last {
			continue
		}
		begins[h.Rank] = append(begins[h.Rank], h.Start)
		ends[h.Rank] = h.End
		n++
	}
	type pass struct {
		rank   op.Int
		number int
	}
	seen := make(map[pass]bool)
	for _, r := range f.Devices.ByStart {
		at, rank := f.Start(r), f.DeviceKey(r).Rank
		if f.Has(r, trace.FlagLaunch) {
			at = f.Launch(r)
		}
		if i, _ := slices.BinarySearch(begins[rank], at); i > 0 && f.Kind(r) == op.KindCollective {
			seen[pass{rank, i}] = true
		}
	}
	return n, int64(len(seen))
}

// TimesLaunches reports whether most operations of devices state how long their launch took. Without that, nobody knows
// how much of the host's time before a launch a fused one saves.
func TimesLaunches(f *trace.Forest) bool {
	if f == nil {
		return false
	}
	var timed, all int
	for r := range f.Rows() {
		if f.CountsInSums(r) && f.IsDeviceSide(r) {
			all++
			if f.Has(r, trace.FlagLaunch) && f.Launched(r) > f.Launch(r) {
				timed++
			}
		}
	}
	return 2*timed > all
}
