package kineto

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
)

// join connects the tables of a trace that has been read to its end. Nothing
// is added to the tables afterwards.
//
//  1. Each host operator gets the innermost one that lies around it on its thread,
//     and each launch the innermost one that was running on its thread when it
//     began: both are gone through in order of time, with the running operators
//     on a stack.
//  2. Launches are ordered by correlation id, under which device events look
//     for them. Of several launches with one id the earliest counts.
//  3. Ranges get those around them, and steps are sorted by process and time.
type join struct {
	*tables
	// byCorrelation lists the launches by correlation id and time.
	byCorrelation []int32
	// byExternal lists the host operators by external id. It is made when it is
	// first needed, which is where there are no launches.
	byExternal []int32
	byRange    []int32 // the ranges by thread and start
}

func newJoin(t *tables) *join {
	order := t.enclose()
	for i := range order {
		order[i] = int32(i) // mostly in order of correlation ids already
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := t.launches.at(i), t.launches.at(j)
		return cmp.Or(cmp.Compare(a.correlation, b.correlation), cmp.Compare(a.start, b.start),
			cmp.Compare(a.thread, b.thread), cmp.Compare(i, j))
	})
	byRange := t.encloseRanges()
	t.settleSteps(byRange)
	return &join{tables: t, byCorrelation: order, byRange: byRange}
}

// enclose finds the host operator around each operator and each launch. It returns the
// launches in order of thread and time, which the caller may put into another order.
func (t *tables) enclose() (launches []int32) {
	launches = byThread(t.launches.n, func(i int32) uint32 { return t.launches.at(i).thread }, func(i, j int32) int {
		return cmp.Or(cmp.Compare(t.launches.at(i).start, t.launches.at(j).start), cmp.Compare(i, j))
	})
	ops := byThread(t.hostOps.n, func(i int32) uint32 { return t.hostOps.at(i).thread }, func(i, j int32) int {
		a, b := t.hostOps.at(i), t.hostOps.at(j)
		// An outer operator comes before those within it, and of two that cover
		// the same time the one that began first.
		order := cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.dur, a.dur))
		if order == 0 && t.innerFirst {
			return cmp.Compare(j, i)
		}
		return cmp.Or(order, cmp.Compare(i, j))
	})
	var running []int32 // outermost first, all of one thread
	for _, i := range launches {
		l := t.launches.at(i)
		for ; len(ops) > 0; ops = ops[1:] {
			o := t.hostOps.at(ops[0])
			if o.thread > l.thread || o.thread == l.thread && o.start > l.start {
				break
			}
			running = t.start(running, ops[0])
		}
		running = t.stillRunning(running, l.thread, l.start)
		l.op = -1
		if len(running) > 0 {
			l.op = running[len(running)-1]
		}
	}
	for _, i := range ops {
		running = t.start(running, i)
	}
	return launches
}

// byThread lists the numbers of n rows by their threads, and those of one thread by an
// order. Traces mostly have them in that order, so that little is left to sort.
func byThread(n int, thread func(i int32) uint32, order func(i, j int32) int) []int32 {
	var ends []int // of each thread in list
	for i := range int32(n) {
		t := thread(i)
		for uint32(len(ends)) <= t {
			ends = append(ends, 0)
		}
		ends[t]++
	}
	sum := 0
	for t, count := range ends {
		ends[t] = sum
		sum += count
	}
	list := make([]int32, n)
	for i := range int32(n) {
		t := thread(i)
		list[ends[t]] = i
		ends[t]++
	}
	start := 0
	for _, end := range ends {
		slices.SortFunc(list[start:end], order)
		start = end
	}
	return list
}

// start adds an operator to the running ones and sets its parent, the innermost of
// them that does not end before it.
func (t *tables) start(running []int32, index int32) []int32 {
	o := t.hostOps.at(index)
	running = t.stillRunning(running, o.thread, o.start)
	o.parent = -1
	for _, r := range slices.Backward(running) {
		if p := t.hostOps.at(r); o.start < p.start+p.dur && o.start+o.dur <= p.start+p.dur {
			o.parent = r
			break
		}
	}
	return append(running, index)
}

// stillRunning takes the operators off the top of running that are of another
// thread or had ended by a time. One without a duration lasts for the instant
// at which it started.
func (t *tables) stillRunning(running []int32, thread uint32, at int64) []int32 {
	for n := len(running); n > 0; n-- {
		o := t.hostOps.at(running[n-1])
		if o.thread == thread && (o.start+o.dur > at || o.start == at) {
			return running[:n]
		}
	}
	return running[:0]
}

// launchOf returns the launch of a device event, or nil.
func (j *join) launchOf(d *deviceOp) *launch {
	if d.has&hasCorrelation == 0 {
		return nil
	}
	launches := j.byCorrelation
	i := sort.Search(len(launches), func(i int) bool { return j.launches.at(launches[i]).correlation >= d.correlation })
	if i == len(launches) {
		return nil
	}
	if l := j.launches.at(launches[i]); l.correlation == d.correlation {
		return l
	}
	return nil
}

// hostOpOf returns the number of the operator that launched a device event, or -1. l may be
// nil.
func (j *join) hostOpOf(d *deviceOp, l *launch) int32 {
	if l != nil && l.op >= 0 {
		return l.op
	}
	// The first versions of the profiler repeat the correlation id in the place
	// of the external id, which then says nothing.
	if d.has&hasExternal == 0 || d.has&hasCorrelation != 0 && d.external == d.correlation {
		return -1
	}
	if j.byExternal == nil {
		j.byExternal = make([]int32, j.hostOps.n)
		for i := range j.byExternal {
			j.byExternal[i] = int32(i)
		}
		slices.SortFunc(j.byExternal, func(a, b int32) int {
			return cmp.Or(cmp.Compare(j.hostOps.at(a).external, j.hostOps.at(b).external), cmp.Compare(a, b))
		})
	}
	i := sort.Search(len(j.byExternal), func(i int) bool { return j.hostOps.at(j.byExternal[i]).external >= d.external })
	if i == len(j.byExternal) || j.hostOps.at(j.byExternal[i]).external != d.external {
		return -1
	}
	return j.byExternal[i]
}

// settleSteps leaves for each process the steps of one rank, by time, and numbers those that state no
// number. Of these, one that begins in another is a part of that. A process without any step has the
// ranges that repeat.
func (t *tables) settleSteps(byRange []int32) {
	t.addRepeated(byRange)
	slices.SortStableFunc(t.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.rank, b.rank), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	kept := t.steps[:0]
	for i := 0; i < len(t.steps); {
		first, ordinal := &t.steps[i], int64(0)
		process, rank, end := first.process, first.rank, int64(math.MinInt64)
		for ; i < len(t.steps) && t.steps[i].process == process; i++ {
			s := t.steps[i]
			number := t.marks.of(t.marks.index[s.name]).Number
			if s.rank != rank || !number.Known && s.start < end {
				continue
			}
			if s.number = number.V; !number.Known {
				s.number, ordinal, end = ordinal, ordinal+1, s.end
			}
			kept = append(kept, s)
		}
	}
	t.steps = kept
}

// leastRepeated is how often a range that no rule knows has to come to be a step.
const leastRepeated = 4

// addRepeated adds the steps of processes that have no marks of steps: of the outermost ranges that
// no rule knows, those of one name on one thread, which come at least leastRepeated times and take
// the most time.
func (t *tables) addRepeated(byRange []int32) {
	type key struct{ thread, name uint32 }
	type repeated struct {
		rows []int32
		time int64
	}
	marked := make(map[uint32]bool)
	for _, s := range t.steps {
		marked[s.process] = true
	}
	all := make(map[key]*repeated)
	best := make(map[uint32]key)
	for _, i := range byRange {
		r := t.ranges.at(i)
		process := t.threads.process(r.thread)
		if r.parent >= 0 || r.mark != 0 || strings.HasPrefix(t.notes.text(r.name), modulePrefix) || marked[process] {
			continue
		}
		k := key{r.thread, r.name}
		if all[k] == nil {
			all[k] = new(repeated)
		}
		of := all[k]
		of.rows = append(of.rows, i)
		of.time += r.dur
		if len(of.rows) < leastRepeated {
			continue
		}
		if b := all[best[process]]; b == nil || of.time > b.time || best[process] == k {
			best[process] = k
		}
	}
	for process, k := range best {
		for _, i := range all[k].rows {
			r := t.ranges.at(i)
			t.steps = append(t.steps, step{process: process, start: r.start, end: r.start + r.dur, name: r.name, rank: math.MaxInt})
		}
	}
}

// stepAt returns the step that a process was in, or nil. Steps of one process
// follow each other.
func (j *join) stepAt(process uint32, at int64) *step {
	i := sort.Search(len(j.steps), func(i int) bool {
		s := &j.steps[i]
		return s.process > process || s.process == process && s.start > at
	}) - 1
	if i < 0 || j.steps[i].process != process || j.steps[i].end <= at {
		return nil
	}
	return &j.steps[i]
}
