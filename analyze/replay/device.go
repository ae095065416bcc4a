package replay

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/schedule"
	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// class is a kind of operations with a usual time between the end of their wait and their start.
type class uint8

const (
	classKernel class = iota
	classCopy
	classCollective
	numClasses
)

func (b *builder) classOf(r int32) class {
	switch b.forest.Kind(r) {
	case op.KindMemory:
		return classCopy
	case op.KindCollective:
		return classCollective
	}
	return classKernel
}

// candidate is a possible reason of an operation's wait.
type candidate struct {
	point int32
	usual int64
	kind  schedule.Kind
}

// devicePlan has the dependencies of the operations of devices.
type devicePlan struct {
	stream []int32 // by index in ops, the operation before on the stream, or none
	// work is the operation of another stream launched before a collective by the same thread, or since by another one
	// that computes on its device, by row.
	work map[int32]int32
	// received is the receive launched before the first operation of another stream by the same thread, by row.
	received map[int32]int32
	usual    [2][numClasses]int64
	byEnd    [][]int32 // by process, operations by end, once needed
}

// devices adds the points and edges of operations.
func (b *builder) devices() {
	plan := b.plan()
	marked := b.marks()
	for i, r := range b.ops {
		b.addStart(plan, marked, i, r)
	}
}

func (b *builder) plan() *devicePlan {
	f := b.forest
	p := &devicePlan{stream: repeat(len(b.ops)), work: make(map[int32]int32), received: make(map[int32]int32)}
	last := repeat(f.Devices.NumStreams()) // by stream
	for i, r := range b.ops {
		stream := f.DeviceStreamOf(r)
		p.stream[i] = last[stream]
		last[stream] = r
	}
	work := repeat(len(b.lanes.Values)) // by lane
	computed := repeat(len(f.Devices.Keys))
	isReceive := make(map[int32]bool)
	for _, t := range collective.Transfers(f) {
		isReceive[t.Receive] = true
	}
	receive := repeat(len(b.lanes.Values)) // by lane
	for _, rows := range b.launched {
		for _, r := range rows {
			l, d := b.laneOf(r), f.Device(r)
			switch {
			case isReceive[r]:
				receive[l] = r
			case receive[l] != none && f.Kind(r) != op.KindCollective:
				p.received[r] = receive[l]
				receive[l] = none
			}
			switch before := work[l]; {
			case f.Kind(r) != op.KindCollective:
				work[l] = r
				if f.Kind(r) == op.KindCompute {
					computed[d] = r
				}
			case before == none:
			default: // another thread may have computed since, as PyTorch's backward pass does
				if c := computed[d]; c != none && f.Launch(c) > f.Launch(before) {
					before = c
				}
				if f.DeviceStreamOf(before) != f.DeviceStreamOf(r) {
					p.work[r] = before
				}
			}
		}
	}
	b.findUsual(p)
	return p
}

// An operation within the first limit started at once, and one beyond the second had waited for something else.
const (
	soonOnStream    = 20 * microsecond
	soonAfterLaunch = 30 * microsecond
)

// findUsual finds the median times from the end before on the stream, and from the launch, of operations without another
// dependency.
func (b *builder) findUsual(p *devicePlan) {
	f := b.forest
	var all [2][numClasses]sketch.Counts
	for side := range all {
		for c := range all[side] {
			all[side][c] = make(sketch.Counts, soonAfterLaunch)
		}
	}
	for i, r := range b.ops {
		stream, launch := int64(-1), int64(-1)
		if before := p.stream[i]; before != none {
			stream = f.Start(r) - f.End(before)
		}
		if b.launch[r] != none {
			launch = f.Start(r) - f.Launch(r)
		}
		c := b.classOf(r)
		if stream >= 0 && stream < soonOnStream && (b.launch[r] == none || launch > soonAfterLaunch) {
			all[0][c][stream]++
		}
		if launch >= 0 && launch < soonAfterLaunch && (p.stream[i] == none || stream > soonOnStream) {
			all[1][c][launch]++
		}
	}
	for side, other := range [2]int64{microsecond, 5 * microsecond} {
		for c := range numClasses {
			p.usual[side][c] = all[side][c].Median(5, other)
		}
	}
}

// addStart adds the edges to the start of operation i.
func (b *builder) addStart(p *devicePlan, marked *streamWaits, i int, r int32) {
	f := b.forest
	begin := b.begin[r]
	at := b.g.At(begin)
	c := b.classOf(r)
	var list [6]candidate
	all := list[:0]
	add := func(point int32, usual int64, kind schedule.Kind) {
		if b.g.At(point) > at && (kind != onStream || !b.overlaps(p.stream[i], r)) {
			b.g.count[kind].Broken++
			return
		}
		all = append(all, candidate{point, usual, kind})
	}
	if before := p.stream[i]; before != none {
		add(b.end[before], p.usual[0][c], onStream)
	}
	if l := b.launch[r]; l != none {
		add(b.events[l].begin, p.usual[1][c], afterLaunch)
	} else {
		host := b.latest(b.laneOf(r), at)
		if of := b.laneOfProcess[b.process[r]]; b.lanes.Values[b.laneOf(r)].device != 0 && of != none {
			if other := b.latest(of, at); other != none && (host == none || b.g.At(other) > b.g.At(host)) {
				host = other
			}
		}
		if after := b.lastExecution(r, at); after != none && (host == none || b.g.At(after) > b.g.At(host)) {
			host = after
		}
		if host != none {
			add(host, p.usual[1][c], afterLaunch)
		}
	}
	waits, isMarked := marked.of(r)
	for _, after := range waits {
		add(b.end[after], 2*microsecond, afterStream)
	}
	explained := int64(-1)
	for _, c := range all {
		explained = max(explained, min(at, b.g.At(c.point)+c.usual))
	}
	if at-explained > 3*microsecond && (isMarked || !marked.known(b.process[r]) || b.launch[r] == none && len(waits) == 0) {
		if other := p.endedBefore(b, r); other != none {
			all = append(all, candidate{b.end[other], at, afterStream})
		}
	}
	if data, ok := p.received[r]; ok && !marked.known(b.process[r]) && f.End(data) <= f.Start(r) {
		all = append(all, candidate{b.end[data], 2 * microsecond, afterStream})
	}
	if work, ok := p.work[r]; ok && f.End(work) <= f.Start(r) {
		all = append(all, candidate{b.end[work], 2 * microsecond, ofCollective})
	}
	tight := none
	for k := range all {
		if tight == none || b.reach(&all[k], at) > b.reach(&all[tight], at) {
			tight = int32(k)
		}
	}
	for k := range all {
		slack := at - b.g.At(all[k].point)
		isLoop := b.lanes.Values[b.laneOf(r)].root == ofProcess
		if int32(k) != tight && all[k].kind == afterLaunch && b.launch[r] == none && isLoop {
			continue // its launch is not known, and may be earlier
		}
		if int32(k) != tight {
			slack = min(slack, all[k].usual)
		}
		b.g.connect(all[k].point, begin, slack, all[k].kind)
	}
}

// overlaps reports whether r began in the last half of the operation before it on its stream, as dependent launches of
// CUDA do. It waits for that operation then, with a negative lag.
func (b *builder) overlaps(before, r int32) bool {
	f := b.forest
	return 2*(f.End(before)-f.Start(r)) <= f.Duration(before) && f.End(r) >= f.End(before) &&
		f.Start(before) < f.Start(r) && b.end[before] == b.begin[before]|1 // of no collective
}

func (b *builder) reach(c *candidate, at int64) int64 { return min(at, b.g.At(c.point)+c.usual) }

// endedBefore returns the last operation on another stream of the process to end before the start of r, at most
// 50 µs before, or none. Operations of other requests, or of other threads, end then by chance.
func (p *devicePlan) endedBefore(b *builder, r int32) int32 {
	f := b.forest
	if p.byEnd == nil {
		p.byEnd = b.byProcess(b.ops)
		for _, rows := range p.byEnd {
			order.Rows(rows, f.End, f.CompareStart)
		}
	}
	rows := p.byEnd[b.process[r]]
	start := f.Start(r)
	i := sort.Search(len(rows), func(i int) bool { return f.End(rows[i]) > start })
	for i--; i >= 0 && f.End(rows[i]) >= start-longestWindow; i-- {
		isSame := b.loops[b.process[r]] || b.rows.Owner[rows[i]] == b.rows.Owner[r]
		isOther := b.drivers != nil && b.drivers[rows[i]] != b.drivers[r]
		if rows[i] != r && isSame && !isOther && f.DeviceStreamOf(rows[i]) != f.DeviceStreamOf(r) {
			return rows[i]
		}
	}
	return none
}

// addOps adds the points of operations.
func (b *builder) addOps() {
	f := b.forest
	b.g.Grow(len(b.ops), cap(b.g.owner)-len(b.ops), 2*len(b.ops)+len(b.events)+len(f.Collectives))
	for _, r := range b.ops {
		b.begin[r] = schedule.Begin(b.g.Add(f.Start(r)-b.origin, f.Duration(r)))
		b.end[r] = b.begin[r] | 1
	}
}

// addJoins adds the points of collectives, and the ends of their parts: after the last part to start.
func (b *builder) addJoins() {
	f := b.forest
	var rows []int32
	for all := range collective.FindJoins(f).All() {
		rows = rows[:0]
		for i := range all {
			rows = append(rows, all[i].Row)
		}
		b.addJoin(rows)
	}
	for _, t := range collective.Transfers(f) {
		b.addJoin([]int32{t.Send, t.Receive})
	}
}

// addJoin adds the point of a collective with the parts of rows.
func (b *builder) addJoin(rows []int32) {
	if len(rows) < 2 {
		return
	}
	const noTime = int64(math.MinInt64)
	latest := noTime
	for _, r := range rows {
		if b.isPart(r) {
			latest = max(latest, b.g.At(b.begin[r]))
		}
	}
	if latest == noTime {
		return
	}
	join := b.g.follow(latest, none, ofCollective, noOwner)
	for _, r := range rows {
		if !b.isPart(r) {
			continue
		}
		b.parts = append(b.parts, r)
		b.joins = append(b.joins, join)
		at := b.g.At(b.end[r])
		after := b.begin[r]
		if latest <= at {
			after = join
		}
		b.g.Set(^(b.begin[r] >> 1), 0)
		b.end[r] = b.g.follow(at, after, own, r)
	}
}

func (b *builder) isPart(r int32) bool {
	return b.begin[r] != none && b.forest.Kind(r) == op.KindCollective
}

// join lets collectives wait for their parts.
func (b *builder) join() {
	for i, r := range b.parts {
		b.g.connect(b.begin[r], b.joins[i], 0, ofCollective)
	}
}

// fuse runs each occurrence of a sequence of names on a stream as one launch.
func (g *Graph) fuse(text string, v *variant) (int64, error) {
	f := g.forest
	length := selection.ShortRun(f)
	switch text {
	case ShortRuns:
	case Elementwise:
		length = selection.ElementwiseRun(f)
	default:
		names := strings.Split(text, ";")
		for _, name := range names {
			if _, err := g.find(name); err != nil {
				return 0, err
			}
		}
		length = func(rows []int32) int {
			for i, name := range names {
				if i == len(rows) || f.RowName(rows[i]) != name {
					return 0
				}
			}
			return len(names)
		}
	}
	s := &selection.Set{Rows: make([]bool, f.Len())}
	joins := make(map[int32]bool) // an operation behind the same, or elementwise ones behind each other: one kernel
	isElementwise := func(r int32) bool { return selection.IsElementwise(f.RowName(r)) }
	n := int64(0)
	for run := range selection.Runs(f, g.ops(), length) {
		stays := run[0]
		if text == Elementwise {
			stays = slices.MaxFunc(run, func(a, b int32) int { return cmp.Compare(f.Duration(a), f.Duration(b)) })
		}
		for i, r := range run {
			s.Rows[r] = r != stays
			if text == ShortRuns && i > 0 {
				joins[r] = f.Name(r) == f.Name(run[i-1]) || isElementwise(run[i-1]) && isElementwise(r)
			}
		}
		n++
	}
	if n == 0 {
		return 0, &UnknownError{Select: text}
	}
	g.recording().AddHosts(s)
	g.recording().AddPairs(s)
	for e := range g.g.owned(s.HasRow) {
		switch e.kind {
		case afterLaunch:
			v.Set(e.index, dropped)
		case own:
			switch {
			case text == Elementwise: // it reads and writes once
				v.Set(e.index, 0)
			case joins[e.owner]:
				v.Set(e.index, max(0, v.Lag(e.index)-selection.EmptyKernel))
			}
		default:
			most := int64(0)
			if text == ShortRuns && e.kind == onStream && !joins[e.owner] { // as in a graph
				most = usualOverlap
			}
			v.Set(e.index, min(v.Lag(e.index), most))
		}
	}
	g.joinGaps(s, v)
	return n, nil
}

// Most returns a bound on the time by which a change shortens all operations and pauses, found without the graph. It is
// known for ShortRuns and Pauses, in recordings without operations and calls of hosts.
func (g *Graph) Most(c Change) (ns int64, known bool) {
	f := g.forest
	isFuse := c.Kind == Fuse && c.Select == ShortRuns
	if !isFuse && c.Kind != Pauses || len(f.Calls) > 0 {
		return 0, false
	}
	for r := range f.Rows() {
		isOp := f.Has(r, trace.FlagOp)
		if isOp && !g.isOnDevice(r) || c.Kind == Pauses && (!isOp || f.Has(r, trace.FlagLaunch)) {
			return 0, false
		}
	}
	if !isFuse {
		return 0, true
	}
	ops := slices.DeleteFunc(slices.Clone(f.Devices.ByStart), func(r int32) bool { return !g.placed(r) || !g.isOnDevice(r) })
	for run := range selection.Runs(f, ops, selection.ShortRun(f)) {
		first, last := run[0], run[len(run)-1]
		for _, r := range run {
			ns += f.Duration(r)
		}
		ns += max(0, f.Start(last)-f.Start(first))
		if f.Has(first, trace.FlagLaunch) && f.Has(last, trace.FlagLaunch) { // the host's time between goes
			ns += max(0, f.Launched(last)-f.Launch(first))
		}
	}
	return ns, true
}
