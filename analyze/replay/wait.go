package replay

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// streamWaits are the operations that wait for other streams by calls of …StreamWaitEvent.
type streamWaits struct {
	processes map[int32]bool    // with such calls
	marked    map[int32][]int32 // by row, what it waits for
}

func (w *streamWaits) known(process int32) bool { return w.processes[process] }

// of returns what row r waits for. marked reports whether a call came before its launch.
func (w *streamWaits) of(r int32) (after []int32, marked bool) {
	after, marked = w.marked[r]
	return after, marked
}

// marks finds what operations wait for on other streams: the first operation launched after the call waits for the
// last one launched before the event was recorded, on the stated streams. Without streams it waits for the last
// operation launched on another stream.
func (b *builder) marks() *streamWaits {
	f := b.forest
	w := &streamWaits{processes: make(map[int32]bool), marked: make(map[int32][]int32)}
	calls := make(map[lane][]*event)
	for _, e := range b.calls {
		if attrkey.IsStreamWait(f.Calls[^e.owner].Name) {
			w.processes[e.lane.process] = true
			calls[e.lane] = append(calls[e.lane], e)
		}
	}
	if len(calls) == 0 {
		return w
	}
	rows := b.byLaunch()
	byProcess := make(map[int32][]int32)
	for l, list := range rows {
		byProcess[l.process] = append(byProcess[l.process], list...)
	}
	launchOf := func(r int32) int64 { return f.Launch(r) - b.origin }
	for _, list := range byProcess {
		slices.SortStableFunc(list, func(x, y int32) int { return cmp.Compare(launchOf(x), launchOf(y)) })
	}
	streamOf := func(r int32) op.Int { return f.Names.Lanes.Values[f.Lane(r)].Stream }
	for l, list := range calls {
		for _, e := range list {
			c := &f.Calls[^e.owner]
			all := byProcess[l.process]
			from := firstAfter(all, e.start, launchOf)
			until := e.start
			if c.Recorded.Known {
				until = c.Recorded.V - b.origin
			}
			before := firstAfter(all, until, launchOf)
			for _, r := range all[from:] {
				if c.Stream.Known && streamOf(r) != c.Stream || b.launch[r].lane != l {
					continue
				}
				w.marked[r] = append(w.marked[r], lastOn(all[:before], func(x int32) bool {
					if c.OnStream.Known {
						return streamOf(x) == c.OnStream
					}
					return streamOf(x) != streamOf(r)
				})...)
				break
			}
		}
	}
	return w
}

// firstAfter returns the index of the first row with a time after at.
func firstAfter(rows []int32, at int64, of func(int32) int64) int {
	i, _ := slices.BinarySearchFunc(rows, at, func(r int32, at int64) int {
		if of(r) <= at {
			return -1
		}
		return 1
	})
	return i
}

// searched bounds the operations that are examined for one call.
const searched = 3000

// lastOn returns the last of rows that matches, if any.
func lastOn(rows []int32, matches func(int32) bool) []int32 {
	for i := len(rows) - 1; i >= max(0, len(rows)-searched); i-- {
		if matches(rows[i]) {
			return rows[i : i+1]
		}
	}
	return nil
}

// waits adds the edges of hosts that wait for devices.
func (b *builder) waits() {
	b.waitingCalls()
	b.blockingCopies()
	b.fullQueues()
	b.unlaunched()
}

// ownOfCall is what a call takes beside its waiting.
const ownOfCall = 5 * microsecond

// waitingCalls lets the ends of waiting calls wait for the work launched before, on the stream of the call if it
// states one.
func (b *builder) waitingCalls() {
	f := b.forest
	byProcess := make(map[int32][]int32)
	for _, r := range b.ops {
		if b.launch[r] != nil {
			byProcess[b.process[r]] = append(byProcess[b.process[r]], r)
		}
	}
	launchOf := func(r int32) int64 { return f.Launch(r) - b.origin }
	for _, rows := range byProcess {
		slices.SortStableFunc(rows, func(x, y int32) int { return cmp.Compare(launchOf(x), launchOf(y)) })
	}
	for _, e := range b.calls {
		c := &f.Calls[^e.owner]
		if !attrkey.IsWait(c.Name) {
			continue
		}
		rows := byProcess[e.lane.process]
		rows = rows[:firstAfter(rows, e.start, launchOf)]
		after := none
		seen := make(map[int32]bool)
		for i := len(rows) - 1; i >= max(0, len(rows)-searched) && len(seen) < 8; i-- {
			r := rows[i]
			lane := f.Lane(r)
			if c.Stream.Known && f.Names.Lanes.Values[lane].Stream != c.Stream || seen[lane] {
				continue
			}
			seen[lane] = true
			end := b.g.at[b.end[r]]
			if end <= e.end && (after == none || end > b.g.at[b.end[after]]) {
				after = r
			}
		}
		if after != none {
			b.wait(e.at, b.end[after], ownOfCall, afterWait, e.owner)
		}
	}
}

// blockingCopies lets the launching calls of copies that block wait for them. Such a call ends after the copy. A copy
// from pageable memory to the device has a call that ends shortly before it, once the last piece is staged.
func (b *builder) blockingCopies() {
	f := b.forest
	for _, r := range b.ops {
		l := b.launch[r]
		if l == nil || l.same != nil || f.Kind(r) != op.KindMemory || l.at == none || l.at == l.begin {
			continue
		}
		begin, end := b.g.at[b.begin[r]], b.g.at[b.end[r]]
		called := b.g.at[l.at]
		switch {
		case called >= end && called-end < max(longestWindow, (end-begin)/20):
			b.wait(l.at, b.end[r], ownOfCall, afterWait, r)
		case called > begin && called < end && end-called < max(longestWindow, (end-begin)/20):
			b.g.connect(b.begin[r], l.at, called-begin, afterWait, r)
			if e := b.threadEdge(l.at); e != none {
				b.g.edges[e].lag = min(b.g.edges[e].lag, ownOfCall)
			}
		}
	}
}

// fullQueues lets launches wait for the end of an old operation where about a thousand are launched and not ended.
func (b *builder) fullQueues() {
	f := b.forest
	byProcess := make(map[int32][]*event)
	for _, r := range b.ops {
		if l := b.launch[r]; l != nil {
			byProcess[b.process[r]] = append(byProcess[b.process[r]], l)
		}
	}
	for _, launches := range byProcess {
		slices.SortStableFunc(launches, func(x, y *event) int { return cmp.Compare(x.start, y.start) })
		byEnd := make([]int32, len(launches))
		for i, l := range launches {
			byEnd[i] = l.owner
		}
		endOf := func(r int32) int64 { return f.End(r) - b.origin }
		slices.SortStableFunc(byEnd, func(x, y int32) int { return cmp.Compare(endOf(x), endOf(y)) })
		b.fullQueue(launches, byEnd, endOf)
	}
}

// Figures of a full queue: the operations in it at least, and the launches that must have waited.
const (
	fullQueue   = 900
	nearlyFull  = 30
	longLaunch  = 100 * microsecond
	heldAtLeast = 10
)

func (b *builder) fullQueue(launches []*event, byEnd []int32, endOf func(int32) int64) {
	depth := make([]int, len(launches))
	most := 0
	for i, l := range launches {
		depth[i] = i - firstAfter(byEnd, l.start, endOf)
		most = max(most, depth[i])
	}
	if most < fullQueue {
		return
	}
	held := make([]bool, len(launches))
	var back []int
	for i, l := range launches {
		if depth[i] > most-nearlyFull && l.end-l.start > longLaunch {
			held[i] = true
			back = append(back, i-firstAfter(byEnd, l.end, endOf))
		}
	}
	if len(back) < heldAtLeast {
		return
	}
	slices.Sort(back)
	behind := back[len(back)/2]
	for i, l := range launches {
		k := i - behind - 1
		if held[i] {
			k = firstAfter(byEnd, l.end, endOf) - 1
		}
		if k >= 0 && l.same == nil && endOf(byEnd[k]) <= l.end {
			b.wait(l.at, b.end[byEnd[k]], ownOfCall, afterWait, noOwner)
		}
	}
}

// unlaunched lets hosts wait for operations without a launch: in a lane with such operations, each event waits for the
// last of them that had ended.
func (b *builder) unlaunched() {
	f := b.forest
	ends := make(map[lane][]int32)
	for _, r := range b.ops {
		if !f.Has(r, trace.FlagLaunch) {
			l := b.laneOf(r)
			ends[l] = append(ends[l], r)
		}
	}
	endOf := func(r int32) int64 { return b.g.at[b.end[r]] }
	for l, rows := range ends {
		points := b.lanes[l]
		if points == nil {
			continue
		}
		slices.SortStableFunc(rows, func(x, y int32) int { return cmp.Compare(endOf(x), endOf(y)) })
		for _, p := range points.points {
			if i := firstAfter(rows, b.g.at[p], endOf); i > 0 {
				b.wait(p, b.end[rows[i-1]], usualHost, afterWait, noOwner)
			}
		}
	}
}
