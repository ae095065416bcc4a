package replay

import (
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/schedule"
	"github.com/optrace/optrace/analyze/replay/internal/queue"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// streamWaits are the waits of operations for other streams by calls of …StreamWaitEvent.
type streamWaits struct {
	processes map[int32]bool    // with such calls
	marked    map[int32][]int32 // the dependencies of each row
	stated    map[int32][]int32 // all dependencies of each row, as recorded
}

func (w *streamWaits) known(process int32) bool { return w.processes[process] }

// of returns the dependencies of row r. marked reports whether it may have more, because a call came before its launch.
func (w *streamWaits) of(r int32) (after []int32, marked bool) {
	if after, ok := w.stated[r]; ok {
		return after, false
	}
	after, marked = w.marked[r]
	return after, marked
}

// marks finds what operations wait for on other streams: the first operation launched after the call waits for the
// last one launched before the event was recorded, on the stated streams. Without streams it waits for the last
// operation launched on another stream.
func (b *builder) marks() *streamWaits {
	f := b.forest
	w := &streamWaits{processes: make(map[int32]bool), marked: make(map[int32][]int32)}
	streamOf := func(r int32) op.Int { return f.Names.Lanes.Values[f.Lane(r)].Stream }
	for _, i := range b.calls {
		e := &b.events[i]
		c := &f.Calls[^e.owner]
		if !attrkey.IsStreamWait(c.Name) {
			continue
		}
		process := b.lanes.Values[e.lane].process
		w.processes[process] = true
		all := b.launched[process]
		until := e.start
		if c.Recorded.Known {
			until = c.Recorded.V - b.origin
		}
		before := firstAfter(all, until, b.launchOf)
		from := firstAfter(all, e.start, b.launchOf)
		awaited := func(r int32) (after []int32, isTight bool) {
			if c.OnStream.Known {
				return lastOn(all[:before], func(x int32) bool { return streamOf(x) == c.OnStream }), false
			}
			return b.awaited(all[:before], r)
		}
		if r := b.waiting(all[from:min(len(all), from+searched)], e, c, awaited); r != none {
			after, _ := awaited(r)
			w.marked[r] = append(w.marked[r], after...)
		}
	}
	b.recordedWaits(w)
	return w
}

// awaited returns what r may wait for among the operations launched before it, on a stream that is not known: of the last
// on each other stream the one that ends as r starts, which is tight, or else the latest to be launched.
func (b *builder) awaited(before []int32, r int32) (after []int32, isTight bool) {
	const near = 300
	f := b.forest
	seen := []int32{f.DeviceStreamOf(r)}
	for i := len(before) - 1; i >= max(0, len(before)-near); i-- {
		stream := f.DeviceStreamOf(before[i])
		if slices.Contains(seen, stream) {
			continue
		}
		seen = append(seen, stream)
		if slack := f.Start(r) - f.End(before[i]); slack >= 0 && slack <= longestWindow {
			return before[i : i+1], true
		}
	}
	return lastOn(before, func(x int32) bool { return f.DeviceStreamOf(x) != seen[0] }), false
}

// waiting returns the operation that waits after a call of …StreamWaitEvent, given the ones launched after it and what each
// of them would wait for, or none. It is the first of the call's stream, by any thread. Without a stream it is one that
// the call's thread launches soon: of the first on each stream, the one that starts as what it waits for ends, as FSDP
// launches a gather in between, or else the first. Otherwise it is the next of any thread: PyTorch's autograd thread calls
// for the optimizer of the main thread.
func (b *builder) waiting(after []int32, e *event, c *trace.Call, awaited func(r int32) ([]int32, bool)) int32 {
	const soon = 200 * microsecond
	f := b.forest
	first, next := none, none
	var streams []int32
	for _, r := range after {
		stream := f.DeviceStreamOf(r)
		isSoon := b.launchOf(r) <= e.end+soon
		switch {
		case c.Stream.Known:
			if f.Names.Lanes.Values[f.Lane(r)].Stream == c.Stream {
				return r
			}
			continue
		case first == none:
			first = r
		}
		if !isSoon {
			break
		}
		if b.events[b.launch[r]].lane != e.lane || slices.Contains(streams, stream) {
			continue
		}
		streams = append(streams, stream)
		if next == none {
			next = r
		}
		if _, isTight := awaited(r); isTight {
			return r
		}
	}
	if next != none {
		return next
	}
	return first
}

// recordedWaits adds the recorded waits for other streams.
func (b *builder) recordedWaits(w *streamWaits) {
	w.stated = b.forest.WaitedFor()
	isMissing := func(r int32) bool { return b.begin[r] == none }
	for r, after := range w.stated {
		w.processes[b.process[r]] = true
		w.stated[r] = slices.DeleteFunc(after, isMissing)
	}
}

// firstAfter returns the index of the first row with a time after at.
func firstAfter(rows []int32, at int64, of func(int32) int64) int {
	return sort.Search(len(rows), func(i int) bool { return of(rows[i]) > at })
}

// searched bounds the operations examined for one call.
const searched = 3000

// lastOn returns the last matching row, if any.
func lastOn(rows []int32, matches func(int32) bool) []int32 {
	for i := len(rows) - 1; i >= max(0, len(rows)-searched); i-- {
		if matches(rows[i]) {
			return rows[i : i+1]
		}
	}
	return nil
}

// waits adds the edges of hosts waiting for devices.
func (b *builder) waits() {
	b.waitingCalls()
	b.blockingCopies()
	b.fullQueues()
	b.unlaunched()
}

// ownOfCall is the time of a call beside its waiting.
const ownOfCall = 5 * microsecond

// waitingCalls lets the ends of waiting calls, and of operations of hosts that wait, wait for the work launched before,
// on the stream of the call if it states one. It looks at the latest launches only, on up to eight streams.
func (b *builder) waitingCalls() {
	f := b.forest
	names := f.Names.Operations.Values
	isWait, isRead := make([]bool, len(names)), make([]bool, len(names))
	for i, name := range names {
		isWait[i] = attrkey.IsWait(name)
		isRead[i] = attrkey.IsRead(name)
	}
	calls := make([][]int64, len(b.lanes.Values)) // the starts of waiting calls
	for at := range b.events {
		if e := &b.events[at]; e.owner < 0 && attrkey.IsWait(f.Calls[^e.owner].Name) {
			calls[e.lane] = append(calls[e.lane], e.start)
		}
	}
	for _, starts := range calls {
		slices.Sort(starts)
	}
	for at := range b.events {
		e := &b.events[at]
		var c trace.Call // its stream is unknown for an operation
		launched := e.start
		switch {
		case e.owner < 0 && attrkey.IsWait(f.Calls[^e.owner].Name):
			c = f.Calls[^e.owner]
		case e.owner < 0 || e.launch || !f.Has(e.owner, trace.FlagOp) || !isRead[f.Name(e.owner)]:
			continue
		case !isWait[f.Name(e.owner)]: // it launches a copy, and waits in a call if calls are recorded
			i, _ := slices.BinarySearch(calls[e.lane], e.start)
			if i < len(calls[e.lane]) && calls[e.lane][i] < e.end {
				continue
			}
			launched = e.end
		}
		rows := b.launched[b.lanes.Values[e.lane].process]
		rows = rows[:firstAfter(rows, launched, b.launchOf)]
		after := none
		var others []int32
		seen := make(map[int32]bool)
		for i := len(rows) - 1; i >= max(0, len(rows)-searched) && len(seen) < 8; i-- {
			r := rows[i]
			lane := f.Lane(r)
			if c.Stream.Known && f.Names.Lanes.Values[lane].Stream != c.Stream || seen[lane] {
				continue
			}
			seen[lane] = true
			end := b.g.At(b.end[r])
			if end > e.end {
				continue
			}
			if after == none || end > b.g.At(b.end[after]) {
				r, after = after, r
			}
			if r != none {
				others = append(others, r)
			}
		}
		if after == none {
			continue
		}
		b.wait(e.at, b.end[after], ownOfCall, afterWait)
		for _, r := range others { // they end last if the change lets them
			b.g.connect(b.end[r], e.at, min(ownOfCall, e.end-b.g.At(b.end[after])), afterWait)
		}
	}
}

// blockingCopies lets the launching calls of blocking copies wait for them. Such a call ends after the copy. A copy
// from pageable memory to the device has a call that ends shortly before it, once the last piece is staged.
func (b *builder) blockingCopies() {
	f := b.forest
	for _, r := range b.ops {
		if f.Kind(r) != op.KindMemory {
			continue
		}
		begin, end := b.g.At(b.begin[r]), b.g.At(b.end[r])
		near := max(longestWindow, (end-begin)/20)
		at := b.copied(r)
		next := b.afterPageable(r, at != none)
		if next != none {
			at = next
		}
		if at == none {
			continue
		}
		called := b.g.At(at)
		switch {
		case called >= end && called-end < near:
			b.wait(at, b.end[r], ownOfCall, afterWait)
		case called > begin && called < end && end-called < near:
			b.g.connect(b.begin[r], at, called-begin, afterWait)
			b.atMost(at, ownOfCall)
		default:
			continue
		}
		if next == none {
			b.g.owner[at>>1] = r
		}
	}
}

// afterPageable returns the host's next point after the launch of a copy from or to pageable memory, or none. It waits
// for such a copy in the call, whose end may not be known, and for one to the host also in a call that may be missing.
func (b *builder) afterPageable(r int32, isTimed bool) int32 {
	name, l := b.forest.RowName(r), b.launch[r]
	if l == none || !strings.Contains(name, "Pageable") || isTimed && !strings.HasSuffix(name, "-> Pageable)") {
		return none
	}
	points := b.lanePoints[b.laneOf(r)]
	at := b.g.At(b.events[l].at)
	i := sort.Search(len(points), func(i int) bool { return b.g.At(points[i]) > at })
	if i == len(points) || at >= b.g.At(b.end[r]) {
		return none
	}
	return points[i]
}

// copied returns the end of a copy's launching call, or of the operation of the host around its start, or none.
func (b *builder) copied(r int32) int32 {
	if l := b.launch[r]; l != none {
		e := &b.events[l]
		if e.same != none || e.at == e.begin {
			return none
		}
		return e.at
	}
	points := b.lanePoints[b.laneOf(r)]
	begin := b.g.At(b.begin[r])
	i := sort.Search(len(points), func(i int) bool { return b.g.At(points[i]) > begin })
	if i == len(points) {
		return none
	}
	if o := b.g.owner[points[i]>>1]; o >= 0 && b.end[o] == points[i] && b.forest.Has(o, trace.FlagOp) {
		return points[i]
	}
	return none
}

// fullQueues lets launches wait for the end of an old operation where about a thousand are launched and not ended.
func (b *builder) fullQueues() {
	for _, rows := range b.launched {
		launches := make([]queue.Launch, len(rows))
		for i, r := range rows {
			launches[i] = queue.Launch{Start: b.launchOf(r), End: b.events[b.launch[r]].end, Done: b.endOf(r)}
		}
		for _, w := range queue.Full(launches) {
			if l := &b.events[b.launch[rows[w.Launch]]]; l.same == none {
				b.wait(l.at, b.end[rows[w.For]], ownOfCall, whileHeld)
			}
		}
	}
}

// unlaunched lets hosts wait for operations without a launch: in a lane with such operations, the first event after the
// end of one waits for it, unless its stream works on. A host that goes on meanwhile does not wait. A request without calls
// waits for launched ones, too: it needs what they computed, such as a token.
func (b *builder) unlaunched() {
	f := b.forest
	var all []int32
	drains := make(map[int32]bool) // lanes
	isSilent := len(f.Calls) == 0  // the hosts' operations are not recorded
	for r := int32(0); isSilent && r < f.Rows(); r++ {
		isSilent = !f.Has(r, trace.FlagOp|trace.FlagHost)
	}
	for _, r := range b.ops {
		l := b.laneOf(r)
		isFree := f.Has(r, trace.FlagLaunch) && (b.lanes.Values[l].root < 0 || len(f.Calls) > 0)
		if isFree && isSilent && b.lanes.Values[l].root == ofProcess {
			if _, known := drains[l]; !known {
				drains[l] = b.drains(l)
			}
			isFree = !drains[l]
		}
		if !isFree && len(b.lanePoints[l]) > 0 {
			all = append(all, r)
		}
	}
	n := len(b.lanePoints)
	rows, first := order.GroupRows(all, n, nil, func(i int32) int32 { return b.laneOf(all[i]) })
	next := make([]int32, f.Len())
	for l := range n {
		if list := rows[first[l]:first[l+1]]; len(list) > 0 {
			b.heldBy(list, b.lanePoints[l], next, drains[int32(l)])
		}
	}
}

// drains reports whether a host without recorded calls waits for its launches: it is silent until after the end of the work,
// for times that differ far less than the silences. Where the host is late by itself, the work has no say in its silences.
func (b *builder) drains(l int32) bool {
	const least, rare, times = 10, 0.05, 2
	var silences, rests []int64
	launched := b.launched[b.lanes.Values[l].process]
	busy, i, early := int64(0), 0, 0 // until when the work launched before a point takes
	for _, p := range b.lanePoints[l] {
		at, lag := b.g.At(p), b.g.Lag(^(p >> 1))
		for ; i < len(launched) && b.launchOf(launched[i]) < at; i++ {
			if b.laneOf(launched[i]) == l {
				busy = max(busy, b.endOf(launched[i]))
			}
		}
		if before := at - lag; b.before(p) == none || lag <= silent || busy <= before {
			continue
		}
		if busy > at {
			early++
			continue
		}
		silences = append(silences, lag)
		rests = append(rests, at-busy)
	}
	n := len(silences)
	if n < least || float64(early) > rare*float64(n) {
		return false
	}
	spread := func(list []int64) int64 {
		slices.Sort(list)
		k := int(rare / 2 * float64(n))
		return list[n-1-k] - list[k]
	}
	return times*spread(rests) < spread(silences)
}

// heldBy adds the waits of the points of a lane for operations, sorted by start. It sets next to the next operation on
// the stream of each, by row. The host of a lane that drains has no other work meanwhile.
func (b *builder) heldBy(list, points, next []int32, drains bool) {
	f := b.forest
	latest := make(map[int32]int32) // by stream
	for _, r := range list {
		stream := f.DeviceStreamOf(r)
		if before, known := latest[stream]; known {
			next[before] = r
		}
		latest[stream] = r
		next[r] = none
	}
	order.Rows(list, f.End, f.CompareStart)
	i := 0
	for _, p := range points {
		from := i
		lag := b.g.Lag(^(p >> 1))
		for i < len(list) && b.endOf(list[i]) <= b.g.At(p) {
			i++
		}
		for k := i - 1; k >= from; k-- {
			after := list[k]
			if r := next[after]; r != none && f.Start(r)-b.origin <= b.g.At(p) {
				continue // the stream works on
			}
			limit := max(usualHost, lag/4)
			if f.Has(after, trace.FlagLaunch) && lag <= silent {
				limit = -1
			} else if drains {
				limit = lag
			}
			if b.g.slack(b.end[after], p) > limit {
				break // the host was at work when it ended
			}
			kind := schedule.Kind(whileHeld)
			if o := b.g.owner[p>>1]; o >= 0 && attrkey.IsRead(f.RowName(o)) {
				kind = afterWait
			}
			b.wait(p, b.end[after], usualHost, kind)
			break
		}
	}
}
