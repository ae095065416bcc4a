package kineto

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/read/profiler"
)

// join connects the tables of a complete trace. The tables no longer change.
//
//  1. Each host operator gets the innermost operator around it on its thread,
//     each launch the innermost operator on its thread at its start.
//  2. Launches are sorted by correlation id for lookups by device events. Of
//     several launches with one id the earliest counts. In a file merged from
//     the traces of several ranks, an id belongs to its rank.
//  3. Ranges get the ranges around them, and steps are sorted by process and time.
type join struct {
	*tables
	// byCorrelation lists the launches by correlation id and time.
	byCorrelation []int32
	// byExternal lists the host operators by external id. It is built on demand, for traces without launches.
	byExternal []int32
	groups     groups
	byRange    []int32 // the ranges by thread and start
	byNumber   []int32 // the gradients of forward operators by number and start
}

func newJoin(t *tables) *join {
	operators := profiler.Intervals{N: t.hostOps.n, InnerFirst: t.innerFirst, At: func(i int32) profiler.Interval {
		o := t.hostOps.at(i)
		return profiler.Interval{Thread: o.thread, Start: o.start, End: o.start + o.dur}
	}}
	launches := profiler.Intervals{N: t.launches.n, At: func(i int32) profiler.Interval {
		l := t.launches.at(i)
		return profiler.Interval{Thread: l.thread, Start: l.start, End: l.start}
	}}
	operators.Enclose(&launches,
		func(i int32, n profiler.Nest) { t.hostOps.at(i).parent = n.Parent },
		func(i, in int32) { t.launches.at(i).op = in })
	g := t.findGroups()
	order := make([]int32, t.launches.n) // mostly in order of correlation ids already
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := t.launches.at(i), t.launches.at(j)
		return cmp.Or(cmp.Compare(g.of(t.processOf(a.thread)), g.of(t.processOf(b.thread))),
			cmp.Compare(a.correlation, b.correlation), cmp.Compare(a.start, b.start),
			cmp.Compare(a.thread, b.thread), cmp.Compare(i, j))
	})
	byRange := t.encloseRanges()
	t.steps.Settle(t.outermostRanges(byRange))
	return &join{tables: t, groups: g, byCorrelation: order, byRange: byRange, byNumber: t.forwards()}
}

// launchOf returns the launch of a device event, or nil.
func (j *join) launchOf(d *deviceOp) *launch {
	if d.has&hasCorrelation == 0 {
		return nil
	}
	group := j.groups.of(d.process)
	order := func(i int32) int {
		l := j.launches.at(i)
		return cmp.Or(cmp.Compare(j.groups.of(j.processOf(l.thread)), group), cmp.Compare(l.correlation, d.correlation))
	}
	launches := j.byCorrelation
	i := sort.Search(len(launches), func(i int) bool { return order(launches[i]) >= 0 })
	if i == len(launches) || order(launches[i]) != 0 {
		return nil
	}
	return j.launches.at(launches[i])
}

// hostOpOf returns the number of the operator that launched a device event, or -1. l may be nil.
func (j *join) hostOpOf(d *deviceOp, l *launch) int32 {
	if l != nil && l.op >= 0 {
		return l.op
	}
	// The first versions of the profiler put the correlation id in place of the external id.
	if d.has&hasExternal == 0 || d.has&hasCorrelation != 0 && d.external == d.correlation {
		return -1
	}
	if j.byExternal == nil {
		j.byExternal = make([]int32, j.hostOps.n)
		for i := range j.byExternal {
			j.byExternal[i] = int32(i)
		}
		slices.SortFunc(j.byExternal, func(a, b int32) int {
			x := j.hostOps.at(a)
			y := j.hostOps.at(b)
			return cmp.Or(cmp.Compare(j.groups.of(j.processOf(x.thread)), j.groups.of(j.processOf(y.thread))),
				cmp.Compare(x.external, y.external), cmp.Compare(a, b))
		})
	}
	group := j.groups.of(d.process)
	order := func(i int32) int {
		o := j.hostOps.at(i)
		return cmp.Or(cmp.Compare(j.groups.of(j.processOf(o.thread)), group), cmp.Compare(o.external, d.external))
	}
	i := sort.Search(len(j.byExternal), func(i int) bool { return order(j.byExternal[i]) >= 0 })
	if i == len(j.byExternal) || order(j.byExternal[i]) != 0 {
		return -1
	}
	return j.byExternal[i]
}

// outermostRanges yields the outermost ranges without a known mark as steps, with the numbers of their threads.
func (t *tables) outermostRanges(byRange []int32) iter.Seq2[uint32, marks.Step] {
	return func(yield func(uint32, marks.Step) bool) {
		for _, i := range byRange {
			r := t.ranges.at(i)
			name := t.notes.Text(r.name)
			if r.Parent >= 0 || strings.HasPrefix(name, modulePrefix) || t.marks.Of(r.name, name).IsKnown() {
				continue
			}
			if !yield(r.thread, marks.Step{
				Process: int64(t.processOf(r.thread)), Start: r.start, End: r.start + r.dur, Name: r.name,
			}) {
				return
			}
		}
	}
}
