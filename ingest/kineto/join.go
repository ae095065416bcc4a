package kineto

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/internal/marks"
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
	byNumber   []int32 // the gradients of forward operators by number and start
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
	t.steps.Settle(t.outermostRanges(byRange))
	return &join{tables: t, byCorrelation: order, byRange: byRange, byNumber: t.forwards()}
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

// outermostRanges yields the ranges that lie in no others and that no rule knows, as steps, by the numbers of
// their threads.
func (t *tables) outermostRanges(byRange []int32) iter.Seq2[uint32, marks.Step] {
	return func(yield func(uint32, marks.Step) bool) {
		for _, i := range byRange {
			r := t.ranges.at(i)
			name := t.notes.text(r.name)
			if r.parent >= 0 || strings.HasPrefix(name, modulePrefix) || t.marks.Of(r.name, name).IsKnown() {
				continue
			}
			if !yield(r.thread, marks.Step{
				Process: int64(t.threads.process(r.thread)), Start: r.start, End: r.start + r.dur, Name: r.name,
			}) {
				return
			}
		}
	}
}
