package nsys

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/read/profiler"
)

// join finds the range around each range and each launch, and names the nodes of CUDA graphs. It sorts the launches by
// process and correlation id, and returns the ranges of each thread in order of time.
func (t *tables) join() (byThread []int32) {
	ranges := profiler.Intervals{N: len(t.ranges), At: func(i int32) profiler.Interval {
		r := &t.ranges[i]
		return profiler.Interval{Thread: r.thread, Start: r.start, End: r.end}
	}}
	parent := func(i, in int32) { t.ranges[i].parent = in }
	byThread = ranges.Enclose(starts(t.launches), parent, func(i, in int32) { t.launches[i].at = in })
	if len(t.nodes) > 0 {
		t.capturedIn = make(map[nodeKey]int32)
		ranges.Enclose(starts(t.nodes), parent, t.captured)
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

type nodeKey struct{ process, node int64 }

// captured notes the first range in which a node of a CUDA graph was created or captured. It skips copies.
func (t *tables) captured(i, in int32) {
	n := &t.nodes[i]
	key := nodeKey{t.threads[n.thread].process, n.correlation}
	if _, ok := t.capturedIn[key]; !ok && in >= 0 && t.copies[key] == 0 {
		t.capturedIn[key] = in
	}
}

// maxCopies bounds the chain of copies of a node.
const maxCopies = 16

// nodeName returns the name of the range in which a node was captured, "" if unknown.
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

// findSteps finds the steps of each process in the ranges of all its threads. Repeating PyTorch operators are no steps.
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
			if o := &r.ranges[i]; o.parent < 0 && o.plain && !r.mark(i).IsKnown() && !yield(o.thread, step(o)) {
				return
			}
		}
	})
	r.more(len(r.marks)*int(unsafe.Sizeof(uintptr(0))) + len(r.steps)*int(unsafe.Sizeof(marks.Step{})))
}

// launchOf returns the call of a process with a correlation id, nil if there is none.
func (t *tables) launchOf(process, correlation int64) *launch {
	i, ok := slices.BinarySearchFunc(t.launches, correlation, func(l launch, correlation int64) int {
		return cmp.Or(cmp.Compare(t.threads[l.thread].process, process), cmp.Compare(l.correlation, correlation))
	})
	if !ok {
		return nil
	}
	return &t.launches[i]
}
