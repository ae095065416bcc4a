package timeline

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/heap"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Blocks is into how many parts of equal length the time of the devices is divided to compare them.
const Blocks = 16

// maxAlone bounds the rows of an Extent.
const maxAlone = 16

// Extent is the time from the first start to the last end of all operations and spans, those of
// the host included, and what the devices and the host did in it.
//
//	host    prepare [0,60)
//	cuda:0  matmul [60,90), relu [80,100)
//
//	Duration 100, Alone matmul 20, relu 10, Host prepare 60, HostNS 60
type Extent struct {
	StartNS, DurationNS int64
	// Devices has a row per device with starts, by rank and name.
	Devices []DeviceWork
	// Alone has the time in which an operation was the only one on a device, and what it lies
	// below aside: by operation, the sum over the devices, the largest first.
	Alone []Alone
	// HostNS is the time, in sum over the devices, in which a device ran nothing and the host did.
	// Where there is no device, the host counts as if there were one.
	HostNS int64
	// Host divides HostNS by the innermost operation or span on the host, the last to start, the
	// largest first.
	Host []HostTime
	// Calls divides the time in which no operation or span ran on the host either by the innermost call of the host, the
	// last to start, the largest first.
	Calls []HostTime
	// Quiet is the idle time of a device with the longest time in which nothing was recorded on the
	// host either, HostNS aside.
	Quiet HostGap
}

// DeviceWork is the work of a device, communication aside.
type DeviceWork struct {
	device.Key
	// BlockNS is the sum of the durations by when operations start.
	BlockNS [Blocks]int64
	// Count, FLOPs and Elements are sums over the operations.
	Count, FLOPs, Elements int64
}

// Alone is the time in which an operation ran alone.
type Alone struct {
	Operation string
	Kind      op.Kind
	TimeNS    int64
}

// HostTime is the time of an operation or span on the host while devices ran nothing.
type HostTime struct {
	Operation string
	IsOp      bool
	TimeNS    int64
	// FirstNS is the part of TimeNS in the call that began first.
	FirstNS int64
	// Longest is the idle time of a device that most of it lies in.
	Longest HostGap
}

// HostGap is a time in which a device ran nothing: before its first operation, between two, or after
// the last.
type HostGap struct {
	device.Key
	StartNS, DurationNS int64
	// HostNS is the time of the host's operation in it.
	HostNS int64
}

// ExtentOf returns the extent of f.
func ExtentOf(f *trace.Forest) *Extent {
	f.Build()
	e := &extents{forest: f, alone: make([]*Alone, len(f.Names.Operations.Values)), calls: make(map[string]*hostSum)}
	e.hostOps, e.hostSpans = make([]*hostSum, len(f.Names.Operations.Values)), make([]*hostSum, len(f.Names.Spans.Values))
	e.findHost()
	for _, d := range f.Devices.Order {
		if rows := f.Devices.Of(d); len(rows) > 0 {
			e.device(f.Devices.Keys[d], rows)
		}
	}
	if len(e.Devices) == 0 && e.DurationNS > 0 {
		e.startDevice(device.Key{})
		e.gap(e.StartNS, e.StartNS+e.DurationNS)
		e.Devices = nil
	}
	for _, a := range e.alone {
		if a != nil {
			e.Alone = append(e.Alone, *a)
		}
	}
	e.Host, e.Calls = hostTimes(slices.Values(slices.Concat(e.hostOps, e.hostSpans))), hostTimes(maps.Values(e.calls))
	slices.SortFunc(e.Alone, func(a, b Alone) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), cmp.Compare(a.Operation, b.Operation))
	})
	e.Alone = e.Alone[:min(len(e.Alone), maxAlone)]
	return &e.Extent
}

// hostTimes returns the largest times.
func hostTimes(sums iter.Seq[*hostSum]) (times []HostTime) {
	for h := range sums {
		if h != nil {
			times = append(times, h.HostTime)
		}
	}
	slices.SortFunc(times, func(a, b HostTime) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), cmp.Compare(a.Operation, b.Operation), order.Flags(a.IsOp, b.IsOp),
			b.Longest.compare(&a.Longest), cmp.Compare(b.Longest.HostNS, a.Longest.HostNS), a.Longest.Key.Compare(b.Longest.Key))
	})
	return times[:min(len(times), maxAlone)]
}

// extents finds an Extent.
type extents struct {
	Extent
	forest *trace.Forest
	// alone, hostOps and hostSpans are by name.
	alone              []*Alone
	hostOps, hostSpans []*hostSum
	calls              map[string]*hostSum

	ranked        map[op.Int][]int32       // the rows of the host by rank, all of them where none is known
	hosts, called map[op.Int][]hostSegment // what these did, and which calls were under way
	left          [2][]hostSegment         // what is left of both for the device under way
	filled        []hostSegment            // what the host did in a gap
	at            *DeviceWork              // the device under way
	gaps          int64
}

// hostSum sums up an operation or span of the host.
type hostSum struct {
	HostTime
	gap, inGap int64 // the number of the latest gap, and the time in it
	first      int32 // the row of the first call
}

// hostSegment is a time in which a row of the host was the innermost, or a call where there was no row.
type hostSegment struct {
	from, to int64
	row      int32 // or the number of the call
	isCall   bool
}

// findHost finds the extent and the rows of the host.
func (e *extents) findHost() {
	f := e.forest
	first, last := int64(trace.MaxTime), int64(-trace.MaxTime)
	e.ranked = make(map[op.Int][]int32)
	e.hosts, e.called = make(map[op.Int][]hostSegment), make(map[op.Int][]hostSegment)
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagStart) || f.Has(r, trace.FlagRepeat) {
			continue
		}
		first, last = min(first, f.Start(r)), max(last, f.End(r))
		if f.IsDeviceSide(r) || f.Duration(r) == 0 {
			continue
		}
		e.ranked[op.Int{}] = append(e.ranked[op.Int{}], r)
		if f.Has(r, trace.FlagOp) && f.DeviceKey(r).Rank.Known {
			rank := f.DeviceKey(r).Rank
			e.ranked[rank] = append(e.ranked[rank], r)
		}
	}
	if first <= last {
		e.StartNS, e.DurationNS = first, last-first
	}
}

// innermost returns which of rows, which are sorted by start, started last of those that run, over time.
func innermost(f *trace.Forest, rows []int32) []hostSegment {
	return lastToStart(rows, f.Start, f.End, f.CompareStart)
}

// lastToStart is innermost for rows of any kind, given their times and the order of those that start and end together.
func lastToStart(rows []int32, start, end func(int32) int64, compare func(a, b int32) int) (segments []hostSegment) {
	running := heap.Heap[int32]{Less: func(a, b int32) bool {
		return cmp.Or(cmp.Compare(start(a), start(b)), cmp.Compare(end(b), end(a)), compare(a, b)) < 0
	}}
	at := int64(-trace.MaxTime)
	advance := func(to int64) {
		for at < to && len(running.Items) > 0 {
			top := running.Top()
			if end := min(end(top), to); end > at {
				segments = append(segments, hostSegment{from: at, to: end, row: top})
				at = end
			}
			if end(top) <= at {
				running.Pop()
			}
		}
		at = to
	}
	for _, r := range rows {
		advance(start(r))
		running.Push(r)
	}
	advance(trace.MaxTime)
	return segments
}

// callsOf returns which call of a rank, or of all where none is known, started last of those under way, over time.
func (e *extents) callsOf(rank op.Int) []hostSegment {
	calls := e.forest.Calls
	var list []int32
	for i := range calls {
		if calls[i].Rank == rank || rank == (op.Int{}) {
			list = append(list, int32(i))
		}
	}
	byName := func(a, b int32) int {
		return cmp.Or(strings.Compare(calls[a].Name, calls[b].Name), cmp.Compare(calls[a].Rank.V, calls[b].Rank.V))
	}
	start, end := func(i int32) int64 { return calls[i].Start }, func(i int32) int64 { return calls[i].Start + calls[i].Duration }
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(start(a), start(b)), cmp.Compare(end(b), end(a)), byName(a, b))
	})
	return lastToStart(list, start, end, byName)
}

// fill appends to all what the host did from one time to another: the segments of line, and calls where there is none.
func fill(all, line, calls []hostSegment, from, to int64) []hostSegment {
	for i := range len(line) + 1 {
		hole := hostSegment{from: to, to: to}
		if i < len(line) {
			hole = line[i]
		}
		for len(calls) > 0 && calls[0].from < hole.from {
			c := calls[0]
			if c.from, c.to, c.isCall = max(c.from, from), min(c.to, hole.from), true; c.from < c.to {
				all = append(all, c)
			}
			if calls[0].to > hole.from {
				break
			}
			calls = calls[1:]
		}
		if i < len(line) {
			all, from = append(all, hole), hole.to
		}
	}
	return all
}

// until returns the segments that begin before a time, of some that follow each other.
func until(segments []hostSegment, to int64) []hostSegment {
	n := 0
	for n < len(segments) && segments[n].from < to { // few do
		n++
	}
	return segments[:n]
}

// behind returns the segments that end after a time.
func behind(segments []hostSegment, from int64) []hostSegment {
	return segments[sort.Search(len(segments), func(i int) bool { return segments[i].to > from }):]
}

// startDevice begins a device.
func (e *extents) startDevice(k device.Key) {
	e.Devices = append(e.Devices, DeviceWork{Key: k})
	e.at = &e.Devices[len(e.Devices)-1]
	rank := k.Rank
	if len(e.ranked[rank]) == 0 {
		rank = op.Int{}
	}
	did, ok := e.hosts[rank]
	if !ok {
		order.Rows(e.ranked[rank], e.forest.Start, e.forest.CompareStart)
		did = innermost(e.forest, e.ranked[rank])
		e.hosts[rank] = did
	}
	calls, ok := e.called[k.Rank]
	if !ok {
		calls = e.callsOf(k.Rank)
		e.called[k.Rank] = calls
	}
	e.left = [2][]hostSegment{did, calls}
}

// device adds a device, given its rows by start.
func (e *extents) device(k device.Key, rows []int32) {
	f := e.forest
	e.startDevice(k)
	for _, r := range rows {
		e.add(r, f.Start(r), f.Duration(r))
	}
	at := f.Start(rows[0])
	if e.StartNS < at {
		e.gap(e.StartNS, at)
	}
	for l := range levels(f, rows) {
		if at = l.to; len(l.running) > 0 {
			e.run(l.running, l.to-l.from)
		} else {
			e.gap(l.from, l.to)
		}
	}
	if end := e.StartNS + e.DurationNS; at < end {
		e.gap(at, end)
	}
}

// add adds an operation to the work of the device.
func (e *extents) add(r int32, start, duration int64) {
	f := e.forest
	if f.Kind(r) == op.KindCollective {
		return
	}
	from, to := f.Devices.FirstStart, f.Devices.LastEnd
	block := min(Blocks-1, (start-from)/max(1, (to-from+Blocks-1)/Blocks))
	e.at.BlockNS[block] += duration
	e.at.Count++
	e.at.FLOPs += f.Flops(r)
	e.at.Elements += f.Elements(r)
}

// maxTogether is how many operations of a device may run at once for one of them to count as alone
// with what it lies below.
const maxTogether = 8

// run adds a time in which rows ran on the device.
func (e *extents) run(rows []runningRow, ns int64) {
	f, inner := e.forest, rows[0].row
	if len(rows) > 1 {
		if len(rows) > maxTogether {
			return
		}
		for _, r := range rows[1:] {
			if f.CompareStart(r.row, inner) > 0 {
				inner = r.row
			}
		}
		for _, r := range rows {
			if f.Name(r.row) != f.Name(inner) && !e.isAbove(r.row, inner) {
				return
			}
		}
	}
	name := f.Name(inner)
	a := e.alone[name]
	if a == nil {
		a = &Alone{Operation: f.RowName(inner), Kind: f.Kind(inner)}
		e.alone[name] = a
	}
	a.TimeNS += ns
}

// isAbove reports whether row r is among the next ones above another.
func (e *extents) isAbove(r, other int32) bool {
	for n := 0; other != r && other != trace.NoRow && n < maxTogether; n++ {
		other = e.forest.Tree.Parent[other]
	}
	return other == r
}

// gap adds a time in which the device ran nothing. Those of a device follow each other.
func (e *extents) gap(from, to int64) {
	f := e.forest
	e.gaps++
	e.left = [2][]hostSegment{behind(e.left[0], from), behind(e.left[1], from)}
	did, calls := until(e.left[0], to), until(e.left[1], to)
	if len(calls) > 0 {
		e.filled = fill(e.filled[:0], did, calls, from, to)
		did = e.filled
	}
	quiet := to - from
	for _, s := range did {
		ns := min(to, s.to) - max(from, s.from)
		h := e.sumOf(s)
		if !s.isCall {
			if f.Start(s.row) < f.Start(h.first) {
				h.first, h.FirstNS = s.row, 0
			}
			if s.row == h.first {
				h.FirstNS += ns
			}
			quiet -= ns
			e.HostNS += ns
		}
		if h.gap != e.gaps {
			h.gap, h.inGap = e.gaps, 0
		}
		h.TimeNS += ns
		h.inGap += ns
		if h.inGap < h.Longest.HostNS {
			continue
		}
		g := HostGap{Key: e.at.Key, StartNS: from, DurationNS: to - from, HostNS: h.inGap}
		if cmp.Or(cmp.Compare(g.HostNS, h.Longest.HostNS), g.compare(&h.Longest)) > 0 {
			h.Longest = g
		}
	}
	if quiet < e.Quiet.DurationNS-e.Quiet.HostNS {
		return
	}
	g, q := HostGap{Key: e.at.Key, StartNS: from, DurationNS: to - from, HostNS: to - from - quiet}, &e.Quiet
	if cmp.Or(cmp.Compare(quiet, q.DurationNS-q.HostNS), g.compare(q)) > 0 {
		e.Quiet = g
	}
}

// sumOf returns the sum that a segment counts in.
func (e *extents) sumOf(s hostSegment) *hostSum {
	if s.isCall {
		name := e.forest.Calls[s.row].Name
		h := e.calls[name]
		if h == nil {
			h = &hostSum{HostTime: HostTime{Operation: name}}
			e.calls[name] = h
		}
		return h
	}
	f := e.forest
	sums, isOp := e.hostSpans, f.Has(s.row, trace.FlagOp)
	if isOp {
		sums = e.hostOps
	}
	h := sums[f.Name(s.row)]
	if h == nil {
		h = &hostSum{HostTime: HostTime{Operation: f.RowName(s.row), IsOp: isOp}, first: s.row}
		sums[f.Name(s.row)] = h
	}
	return h
}

// compare orders gaps by length, and those of the same length by start, the first last.
func (g *HostGap) compare(other *HostGap) int {
	return cmp.Or(cmp.Compare(g.DurationNS, other.DurationNS), cmp.Compare(other.StartNS, g.StartNS))
}
