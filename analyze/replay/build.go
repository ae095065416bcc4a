package replay

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/optrace/optrace/analyze/internal/drivers"
	"github.com/optrace/optrace/analyze/internal/loops"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/schedule"
	"github.com/optrace/optrace/analyze/internal/serving"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// Graph is a replayable recording. It is safe for concurrent use.
type Graph struct {
	forest *trace.Forest
	g      points
	// begin and end are the points of each row, or none.
	begin, end  []int32
	rows        serving.Rows
	roots       []int32         // the rows of requests
	process     []int32         // of each row
	devices     []bool          // by number, whether it is known
	loops       []bool          // by process, whether its requests follow each other
	ends        map[int32]int64 // of the host's part of overlapping steps, by root
	build       func()          // all below, and the points of rows
	engines     func() []*engine
	kinds       func() *serving.Kinds
	lawful      func() *serving.Lawful
	unexplained func() float64
	used        sync.Pool // of variants
	medians     sync.Map  // of like calls, by selection
	origin      int64     // of times, Unix ns
	whole       int64     // the recorded end
	hosts       []int32   // the process of each node of a host, or none; nil for one process
}

// builder makes a Graph.
type builder struct {
	*Graph
	g *points

	events        []event
	ops           []int32 // of devices, by start
	lanes         symbols.Table[lane]
	laneOfProcess []int32         // without a thread, or none
	lanePoints    [][]int32       // by lane and time
	laneByRow     []int32         // of the host of each row, or none
	drivers       []int32         // as in [drivers.Of]
	below         map[int32]int32 // the first operation with a thread below each row
	launch        []int32         // the event of each row's launch, or none
	calls         []int32         // events beside operations
	parts         []int32         // rows of collectives
	joins         []int32         // the point of the collective of each part
	launched      [][]int32       // rows by process and launch
	// handed has the points of silent threads, with the points of other threads before them.
	handed map[int32]int32
	// executed has the ends of the executions of each request, by time.
	executed map[int32][]int32
}

// New returns the graph of a recording. Its points and edges are found when they are first needed.
func New(f *trace.Forest) *Graph {
	f.Build()
	g := &Graph{forest: f, rows: serving.NewRows(f, f.RequestOwners())}
	for _, k := range f.Devices.Keys {
		g.devices = append(g.devices, !k.IsNone())
	}
	l := loops.Find(f, g.rows.Owner)
	g.process = l.Process
	g.loops = l.Loops
	g.roots = l.Roots
	g.ends = l.Ends
	g.build = sync.OnceFunc(g.complete)
	g.engines = sync.OnceValue(g.enginesOf)
	g.kinds = sync.OnceValue(func() *serving.Kinds { return serving.NewKinds(&g.rows) })
	g.lawful = sync.OnceValue(func() *serving.Lawful { return serving.NewLawful(&g.rows, g.kinds(), g.found()) })
	g.unexplained = sync.OnceValue(g.unexplainedOf)
	return g
}

// complete finds the points and edges.
func (g *Graph) complete() {
	rows := g.forest.Len()
	g.begin = repeat(rows)
	g.end = repeat(rows)
	b := &builder{
		Graph: g, g: &g.g, launch: repeat(rows), laneByRow: repeat(rows), laneOfProcess: repeat(len(g.loops)),
		handed: make(map[int32]int32),
	}
	b.findBelow()
	b.drivers = drivers.Of(b.forest, b.process)
	b.collect()
	b.addOps()
	b.host()
	b.nodesOfHosts()
	b.addJoins()
	b.findExecuted()
	b.devices()
	b.handOver()
	b.trees()
	b.requests()
	b.waits()
	b.join()
	g.g.Finish()
	g.g.Sort(func(k schedule.Kind) {
		g.g.count[k].Count--
		g.g.count[k].Broken++
	})
	if recorded := g.g.Recorded(); g.g.Nodes() > 0 {
		g.whole = recorded.Time(recorded.Last())
	}
}

// nodesOfHosts keeps the process of each node of a host, if there are several processes.
func (b *builder) nodesOfHosts() {
	if len(b.loops) < 2 {
		return
	}
	b.hosts = repeat(int(b.g.Nodes()))
	for l, points := range b.lanePoints {
		for _, p := range points {
			b.hosts[p>>1] = b.lanes.Values[l].process
		}
	}
}

// repeat returns n times none.
func repeat(n int) []int32 { return slices.Repeat([]int32{none}, n) }

// placed reports whether row r has a time and is no copy of another row. A journey takes as long as its executions.
func (g *Graph) placed(r int32) bool {
	return !g.rows.Journeys[r] && g.forest.Flags(r)&(trace.FlagStart|trace.FlagDuplicate|trace.FlagRepeat) == trace.FlagStart
}

func (g *Graph) isExecution(r int32) bool {
	return g.forest.ExecutionOf(r, g.rows.Owner) != trace.NoExecution
}

// laneOf returns the number of the lane of a row's host.
func (b *builder) laneOf(r int32) int32 {
	if b.laneByRow[r] != none {
		return b.laneByRow[r]
	}
	l := lane{b.process[r], b.forest.Names.Threads.Values[b.forest.Thread(r)], ofProcess, 0}
	above := b.forest.Tree.Parent[r]
	if b.isOnDevice(r) && !b.forest.Has(r, trace.FlagLaunch) && above != trace.NoRow && b.forest.Thread(above) == 0 &&
		!b.loops[l.process] { // the span above has the host's time around it
		l.thread = noThread
	}
	switch {
	case l.thread != noThread:
	case b.isExecution(r):
		l.root = ofEngine - b.rows.Workers[b.rows.ExecutionOf(r)] - 1
	case b.rows.Owner[r] != trace.NoRow && !b.loops[l.process]:
		l.root = b.rows.Owner[r]
	case !b.forest.Has(r, trace.FlagOp):
		l.thread = b.threadOf(r)
	}
	if b.drivers != nil && l.thread == noThread && l.root == ofProcess {
		l.device = b.drivers[r]
	}
	if l.thread == noThread && l.root == ofProcess && l.device == 0 {
		if b.laneOfProcess[l.process] == none {
			b.laneOfProcess[l.process] = b.lanes.ID(l)
		}
		b.laneByRow[r] = b.laneOfProcess[l.process]
	} else {
		b.laneByRow[r] = b.lanes.ID(l)
	}
	return b.laneByRow[r]
}

// threadOf returns the thread of a span without one: the first operation of a device below it has it, or else below a span
// above. Code that writes spans of steps and layers knows nothing of threads, and operations know their launches'.
func (b *builder) threadOf(r int32) int64 {
	for depth := 0; r != trace.NoRow && depth < maxDepth; depth++ {
		if first, known := b.below[r]; known {
			return b.forest.Names.Threads.Values[b.forest.Thread(first)]
		}
		r = b.forest.Tree.Parent[r]
	}
	return noThread
}

// findBelow finds the first operation of a device with a thread below each row.
func (b *builder) findBelow() {
	f := b.forest
	b.below = make(map[int32]int32)
	for _, r := range f.Devices.ByStart {
		if f.Names.Threads.Values[f.Thread(r)] == noThread || !b.placed(r) {
			continue
		}
		for p := f.Tree.Parent[r]; p != trace.NoRow; p = f.Tree.Parent[p] {
			if _, known := b.below[p]; known {
				break
			}
			b.below[p] = r
		}
	}
}

// collect finds events of hosts and operations of devices.
func (b *builder) collect() {
	f := b.forest
	b.origin = trace.MaxTime
	n := len(f.Calls)
	for r := range f.Rows() {
		if !b.isOnDevice(r) || f.Has(r, trace.FlagLaunch) {
			n++
		}
	}
	b.events = make([]event, 0, n)
	b.outlast()
	end := int64(-trace.MaxTime)
	for r := range f.Rows() {
		if !b.placed(r) {
			continue
		}
		start := f.Start(r)
		b.origin = min(b.origin, start)
		end = max(end, f.End(r))
		if !b.isOnDevice(r) {
			end := f.End(r)
			if next, overlaps := b.ends[r]; overlaps { // the host goes on with the next step
				end = next
			}
			b.addEvent(start, end, b.laneOf(r), r, false)
			continue
		}
		b.laneOf(r)
		if f.Has(r, trace.FlagLaunch) && f.Launch(r) <= start {
			at := f.Launch(r)
			b.origin = min(b.origin, at)
			end := max(at, f.Launched(r))
			b.addEvent(at, end, b.laneOf(r), r, true)
		} else if f.Has(r, trace.FlagLaunch) {
			b.g.count[afterLaunch].Broken++
		}
	}
	const much = 10 // of the run
	last := end + max(1_000*microsecond, (end-b.origin)/much)
	processes := make(map[op.Int]int32) // by rank
	for number, p := range f.Processes() {
		if rank := f.Names.Lanes.Values[number].Device.Rank; number > 0 {
			if _, known := processes[rank]; !known {
				processes[rank] = p
			}
		}
	}
	for i := range f.Calls {
		c := &f.Calls[i]
		p, known := processes[c.Rank]
		isOutside := attrkey.IsRuntime(c.Name) && c.Start > last // of a profiler that stops
		if !known || !matters(c) || isOutside {
			continue
		}
		b.origin = min(b.origin, c.Start)
		l := lane{p, noThread, ofProcess, 0}
		if c.Thread.Known {
			l.thread = c.Thread.V
		}
		b.addEvent(c.Start, c.Start+c.Duration, b.lanes.ID(l), ^int32(i), false)
	}
	for i := range b.events {
		b.events[i].start -= b.origin
		b.events[i].end -= b.origin
	}
	b.g.owner = make([]int32, 0, len(f.Devices.ByStart)+2*len(b.events)+2*len(f.Collectives))
	for _, r := range f.Devices.ByStart {
		if b.placed(r) && b.isOnDevice(r) {
			b.g.owner = append(b.g.owner, r)
		}
	}
	b.ops = b.g.owner
	for run := range order.RunsOf(b.ops, func(r *int32) int64 { return f.Start(*r) }) {
		slices.SortFunc(run, func(x, y int32) int { return cmp.Or(cmp.Compare(f.End(x), f.End(y)), cmp.Compare(x, y)) })
	}
	b.groupLaunches()
}

// outlast lets spans end with the parts and executions that outlast them by rounded times: where a format has starts and
// durations in whole microseconds, each end may be early by one.
func (b *builder) outlast() {
	f := b.forest
	atLeast := func(r int32, end int64) bool {
		isEarly := b.placed(r) && !b.isOnDevice(r) && end > max(f.End(r), b.ends[r]) && end <= f.End(r)+microsecond
		if isEarly {
			b.ends[r] = end
		}
		return isEarly
	}
	for r := range f.Rows() {
		if !b.placed(r) {
			continue
		}
		for p := f.Tree.Parent[r]; p != trace.NoRow && atLeast(p, f.End(r)); {
			p = f.Tree.Parent[p]
		}
	}
	for i := range f.Executions.List {
		x := &f.Executions.List[i]
		for _, r := range x.Requests {
			if int(r) < f.Len() && b.placed(x.Row) {
				atLeast(r, max(f.End(x.Row), b.ends[x.Row]))
			}
		}
	}
}

// matters reports whether a call is of use for a replay: a wait, or selectable time of the host.
func matters(c *trace.Call) bool {
	return attrkey.IsWait(c.Name) || attrkey.IsStreamWait(c.Name) || attrkey.IsAllocation(c.Name) || attrkey.IsInput(c.Name)
}

func (b *builder) addEvent(start, end int64, lane, owner int32, launch bool) {
	b.events = append(b.events, event{start: start, end: end, lane: lane, owner: owner, launch: launch, same: none})
}

// groupLaunches finds the launched operations of each process, in the order of their launches.
func (b *builder) groupLaunches() {
	f := b.forest
	rows := make([]int32, 0, min(len(b.ops), len(b.events)))
	for _, r := range b.ops {
		if f.Has(r, trace.FlagLaunch) && f.Launch(r) <= f.Start(r) {
			rows = append(rows, r)
		}
	}
	b.launched = b.byProcess(rows)
	for _, list := range b.launched {
		order.Rows(list, f.Launch, f.CompareStart)
	}
}

// byProcess groups rows by process.
func (b *builder) byProcess(rows []int32) [][]int32 {
	groups := make([][]int32, len(b.loops))
	grouped, first := order.GroupRows(rows, len(b.loops), nil, func(i int32) int32 { return b.process[rows[i]] })
	for p := range groups {
		groups[p] = grouped[first[p]:first[p+1]]
	}
	return groups
}

// launchOf returns the launch of a row in ns from the origin.
func (b *builder) launchOf(r int32) int64 { return b.forest.Launch(r) - b.origin }

// endOf returns the end of a row in ns from the origin.
func (b *builder) endOf(r int32) int64 { return b.forest.End(r) - b.origin }

// maxDepth bounds the number of spans above an operation with ends waiting for it.
const maxDepth = 64

// requests adds the edges of shared executions. An execution waits for the requests that are new in it. A request ends
// after its last execution.
func (b *builder) requests() {
	f := b.forest
	list := f.Executions.List
	byStart := make([]int32, 0, len(list))
	for i := range list {
		if b.begin[list[i].Row] != none {
			byStart = append(byStart, int32(i))
		}
	}
	slices.SortFunc(byStart, func(x, y int32) int { // those around others first
		p, q := list[x].Row, list[y].Row
		return cmp.Or(cmp.Compare(f.Start(p), f.Start(q)), cmp.Compare(f.End(q), f.End(p)), f.CompareStart(p, q))
	})
	last := make(map[int32]int32) // the last execution of each request
	for _, i := range byStart {
		row := list[i].Row
		arrived := none
		var from []int32 // the ends of executions of other engines
		goesOn := false  // with requests of the execution before: the host waits for no other one
		for _, r := range list[i].Requests {
			if int(r) >= f.Len() || b.begin[r] == none {
				continue
			}
			k, known := last[r]
			if known && b.rows.ExecutionOf(row) != k {
				before := list[k].Row
				if b.process[before] != b.process[row] || b.rows.Workers[k] != b.rows.Workers[i] {
					from = append(from, b.end[before])
				} else {
					goesOn = true
				}
			} else if !known && (arrived == none || b.g.slack(arrived, b.begin[r]) > 0) {
				arrived = b.begin[r]
			}
			if !known || f.End(list[k].Row) < f.End(row) {
				last[r] = i
			}
		}
		if arrived != none {
			from = append(from, arrived)
		}
		for _, p := range from {
			if goesOn {
				b.g.connect(p, b.begin[row], min(usualHost, b.g.slack(p, b.begin[row])), ofRequest)
			} else {
				b.wait(b.begin[row], p, usualHost, ofRequest)
			}
		}
	}
	for _, r := range b.roots {
		if i, known := last[r]; known {
			b.wait(b.end[r], b.end[list[i].Row], usualHost, ofRequest)
		}
	}
	b.phases(byStart)
}

// findExecuted finds the ends of the executions of each request.
func (b *builder) findExecuted() {
	b.executed = make(map[int32][]int32)
	for i := range b.forest.Executions.List {
		x := &b.forest.Executions.List[i]
		for _, r := range x.Requests {
			if b.end[x.Row] != none {
				b.executed[r] = append(b.executed[r], b.end[x.Row])
			}
		}
	}
	for _, ends := range b.executed {
		slices.SortFunc(ends, func(p, q int32) int { return cmp.Compare(b.g.At(p), b.g.At(q)) })
	}
}

// lastExecution returns the end of the last execution of a row's request before a time, for a row beside executions, or none.
func (b *builder) lastExecution(r int32, at int64) int32 {
	ends := b.executed[b.rows.Owner[r]]
	k := sort.Search(len(ends), func(k int) bool { return b.g.At(ends[k]) > at })
	if k == 0 || b.isExecution(r) {
		return none
	}
	return ends[k-1]
}

// phases lets spans below a request, such as its queue and its decode, begin and end after an execution: the last of
// the request, and before its first one the last of its process, once the request has come to the engine. An operation
// beside executions, such as a transfer, begins after the last one of its request.
func (b *builder) phases(executions []int32) {
	f := b.forest
	ofProcess := make(map[int32][]int32)
	process := make(map[int32]int32) // of the executions of a request
	first := make(map[int32]int64)   // the start of the first one
	for _, i := range slices.SortedFunc(slices.Values(executions), func(i, k int32) int {
		return cmp.Compare(b.endOf(f.Executions.List[i].Row), b.endOf(f.Executions.List[k].Row))
	}) {
		x := &f.Executions.List[i]
		of := b.process[x.Row]
		ofProcess[of] = append(ofProcess[of], b.end[x.Row])
		for _, r := range x.Requests {
			if _, known := process[r]; !known {
				first[r] = f.Start(x.Row)
			}
			process[r] = of
		}
	}
	came := requests.Came(f, b.rows.Owner, first)
	for r := range f.Rows() {
		root := b.rows.Owner[r]
		if len(executions) == 0 || b.begin[r] == none || root == r || b.executed[root] == nil || b.isExecution(r) {
			continue
		}
		if f.Has(r, trace.FlagOp) {
			if b.launch[r] != none {
				p := b.events[b.launch[r]].begin
				if after := b.lastExecution(r, b.g.At(p)); after != none {
					b.wait(p, after, usualHost, ofRequest)
				}
			}
			continue
		}
		for _, p := range [2]int32{b.begin[r], b.end[r]} {
			list := b.executed[root]
			if b.g.At(list[0]) > b.g.At(p) {
				if at, c := b.g.At(p)+b.origin, came[root]; c != root && (at <= f.Start(c) || at <= f.End(c) && f.End(c) <= first[root]) {
					continue
				}
				list = ofProcess[process[root]]
			}
			k := sort.Search(len(list), func(k int) bool { return b.g.At(list[k]) > b.g.At(p) })
			if before := b.before(p); k > 0 && before != none && b.g.At(list[k-1]) > b.g.At(before) {
				b.wait(p, list[k-1], usualHost, ofRequest)
			}
		}
	}
}

// usualHost is the usual time of a host between the end of a wait and its next event.
const usualHost = 10 * microsecond
