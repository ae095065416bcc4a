package kineto

import (
	"cmp"
	"slices"
	"sort"
)

// join connects the tables of a trace that has been read to its end. Nothing
// is added to the tables afterwards.
//
//  1. Each host operator gets the innermost one that lies around it on its thread,
//     and each launch the innermost one that was running on its thread when it
//     began: both are gone through in order of time, with the running operators
//     on a stack.
//  2. Launches are sorted by correlation id, under which device events look
//     for them. Of several launches with one id the earliest counts.
//  3. Steps are sorted by process and time.
type join struct {
	*tables
	// byExternal lists the host operators by external id. It is made when it is
	// first needed, which is where there are no launches.
	byExternal []int32
}

func newJoin(t *tables) *join {
	t.enclose()
	slices.SortStableFunc(t.launches, func(a, b launch) int {
		return cmp.Or(cmp.Compare(a.correlation, b.correlation), cmp.Compare(a.start, b.start))
	})
	slices.SortStableFunc(t.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.start, b.start))
	})
	return &join{tables: t}
}

// enclose finds the host operator around each operator and each launch. It leaves
// the launches in order of thread and time.
func (t *tables) enclose() {
	slices.SortStableFunc(t.launches, func(a, b launch) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start))
	})
	order := make([]int32, len(t.hostOps))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &t.hostOps[i], &t.hostOps[j]
		// An outer operator comes before those within it, and of two that cover
		// the same time the one that was written first.
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start),
			cmp.Compare(b.dur, a.dur), cmp.Compare(i, j))
	})
	var running []int32 // outermost first, all of one thread
	next := 0
	for i := range t.launches {
		l := &t.launches[i]
		for ; next < len(order); next++ {
			o := &t.hostOps[order[next]]
			if o.thread > l.thread || o.thread == l.thread && o.start > l.start {
				break
			}
			running = t.start(running, order[next])
		}
		running = t.stillRunning(running, l.thread, l.start)
		l.op = -1
		if len(running) > 0 {
			l.op = running[len(running)-1]
		}
	}
	for ; next < len(order); next++ {
		running = t.start(running, order[next])
	}
}

// start adds an operator to the running ones and sets its parent, the innermost of
// them that does not end before it.
func (t *tables) start(running []int32, index int32) []int32 {
	o := &t.hostOps[index]
	running = t.stillRunning(running, o.thread, o.start)
	o.parent = -1
	for i := len(running) - 1; i >= 0; i-- {
		if p := &t.hostOps[running[i]]; o.start < p.start+p.dur && o.start+o.dur <= p.start+p.dur {
			o.parent = running[i]
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
		o := &t.hostOps[running[n-1]]
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
	i := sort.Search(len(j.launches), func(i int) bool { return j.launches[i].correlation >= d.correlation })
	if i == len(j.launches) || j.launches[i].correlation != d.correlation {
		return nil
	}
	return &j.launches[i]
}

// hostOpOf returns the operator that launched a device event, or nil. l may be
// nil.
func (j *join) hostOpOf(d *deviceOp, l *launch) *hostOp {
	if l != nil && l.op >= 0 {
		return &j.hostOps[l.op]
	}
	// The first versions of the profiler repeat the correlation id in the place
	// of the external id, which then says nothing.
	if d.has&hasExternal == 0 || d.has&hasCorrelation != 0 && d.external == d.correlation {
		return nil
	}
	if j.byExternal == nil {
		j.byExternal = make([]int32, len(j.hostOps))
		for i := range j.byExternal {
			j.byExternal[i] = int32(i)
		}
		slices.SortFunc(j.byExternal, func(a, b int32) int {
			return cmp.Or(cmp.Compare(j.hostOps[a].external, j.hostOps[b].external), cmp.Compare(a, b))
		})
	}
	i := sort.Search(len(j.byExternal), func(i int) bool { return j.hostOps[j.byExternal[i]].external >= d.external })
	if i == len(j.byExternal) || j.hostOps[j.byExternal[i]].external != d.external {
		return nil
	}
	return &j.hostOps[j.byExternal[i]]
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
