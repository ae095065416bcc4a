package nsys

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/read/profiler"
)

// join finds the range around each range and each launch, and names the nodes of CUDA graphs. It puts the launches into
// the order of their processes and correlation ids, and returns the ranges of each thread in order of time.
func (t *tables) join() (byThread []int32) {
	ranges := profiler.Intervals{N: len(t.ranges), At: func(i int32) profiler.Interval {
		r := &t.ranges[i]
		return profiler.Interval{Thread: r.thread, Start: r.start, End: r.end}
	}}
	nest := func(i int32, n profiler.Nest) { t.ranges[i].Nest = n }
	byThread = ranges.Enclose(starts(t.launches), nest, func(i, in int32) { t.launches[i].at = in })
	if len(t.nodes) > 0 {
		t.capturedIn = make(map[nodeKey]int32)
		ranges.Enclose(starts(t.nodes), nest, t.captured)
		t.nodes = nil
	}
	slices.SortStableFunc(t.launches, func(a, b launch) int {
		return cmp.Or(cmp.Compare(t.threads[a.thread].process, t.threads[b.thread].process),
			cmp.Compare(a.correlation, b.correlation), cmp.Compare(a.start, b.start), cmp.Compare(a.thread, b.thread))
	})
	return byThread
}

func starts(calls []launch) *profiler.Intervals {
	return &profiler.Intervals{N: len(calls), At: func(i int32) profiler.Interval {
		return profiler.Interval{Thread: calls[i].thread, Start: calls[i].start, End: calls[i].start}
	}}
}

// enclosing returns the next range outward from the i-th among those that are open at a time, -1 for none.
func (t *tables) enclosing(i int32, at int64) int32 {
	return profiler.Outside(i, at, func(i int32) (profiler.Nest, int64) { return t.ranges[i].Nest, t.ranges[i].end })
}

type nodeKey struct{ process, node int64 }

// captured notes the range in which a node of a CUDA graph was made or captured, unless it is a copy of another one or
// was made before.
func (t *tables) captured(i, in int32) {
	n := &t.nodes[i]
	key := nodeKey{t.threads[n.thread].process, n.correlation}
	if _, ok := t.capturedIn[key]; !ok && in >= 0 && t.copies[key] == 0 {
		t.capturedIn[key] = in
	}
}

// maxCopies is how many copies of copies of nodes are followed.
const maxCopies = 16

// nodeName returns the name of the range in which a node of a process was captured, "" where it is not known.
func (t *tables) nodeName(process, node int64) string {
	key := nodeKey{process, node}
	for range maxCopies {
		if at, ok := t.capturedIn[key]; ok {
			return t.symbols.Text(t.ranges[at].name)
		}
		if key.node = t.copies[key]; key.node == 0 {
			break
		}
	}
	return ""
}

func (t *tables) mark(i int32) *marks.Mark {
	name := t.ranges[i].name
	return t.marks.Of(name, t.symbols.Text(name))
}

// findSteps finds the steps of each process, from ranges on whatever thread. Operators of PyTorch are none for coming
// again.
func (r *reader) findSteps(byThread []int32) {
	step := func(o *timeRange) marks.Step {
		return marks.Step{Process: r.threads[o.thread].process, Start: o.start, End: o.end, Name: o.name}
	}
	for i := range r.ranges {
		if m := r.mark(int32(i)); m.IsStep() {
			r.steps.Add(m, step(&r.ranges[i]))
		}
	}
	r.steps.Settle(func(yield func(uint32, marks.Step) bool) {
		for _, i := range byThread {
			if o := &r.ranges[i]; o.Parent < 0 && o.plain && !r.mark(i).IsKnown() && !yield(o.thread, step(o)) {
				return
			}
		}
	})
	r.more(len(r.marks)*int(unsafe.Sizeof(uintptr(0))) + len(r.steps)*int(unsafe.Sizeof(marks.Step{})))
}

// launchOf returns the call of a process with a correlation id, nil for none.
func (t *tables) launchOf(process, correlation int64) *launch {
	i, ok := slices.BinarySearchFunc(t.launches, correlation, func(l launch, correlation int64) int {
		return cmp.Or(cmp.Compare(t.threads[l.thread].process, process), cmp.Compare(l.correlation, correlation))
	})
	if !ok {
		return nil
	}
	return &t.launches[i]
}
