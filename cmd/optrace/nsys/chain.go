package nsys

import (
	"cmp"
	"slices"
	"sort"
	"unsafe"

	"github.com/optrace/optrace/internal/marks"
)

// join finds the range around each range and each launch, of those on its thread, and puts the
// launches into the order of their processes and correlation ids. Both are gone through in order of
// time, with the ranges that are open on a stack:
//
//	a |------------------|
//	b    |------|            in a
//	c         |------|       overlaps b, in a
//	launch      ^ c   ^ a
//
// It returns the ranges of each thread in order of time.
func (t *tables) join() (byThread []int32) {
	byThread = t.byThread()
	t.sweep(byThread, t.launches)
	slices.SortStableFunc(t.launches, func(a, b launch) int {
		return cmp.Or(cmp.Compare(t.threads[a.thread].process, t.threads[b.thread].process),
			cmp.Compare(a.correlation, b.correlation), cmp.Compare(a.start, b.start))
	})
	return byThread
}

// sweep finds the range around each range, which are given in order, and around each launch, which it puts into the
// order of their threads.
func (t *tables) sweep(order []int32, launches []launch) {
	slices.SortStableFunc(launches, func(a, b launch) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start))
	})
	var open []int32
	for i := range launches {
		l := &launches[i]
		for ; len(order) > 0; order = order[1:] {
			if r := &t.ranges[order[0]]; r.thread > l.thread || r.thread == l.thread && r.start > l.start {
				break
			}
			open = t.begin(open, order[0])
		}
		if open = t.stillOpen(open, l.thread, l.start); len(open) > 0 {
			l.at = open[len(open)-1]
		}
	}
	for _, i := range order {
		open = t.begin(open, i)
	}
}

// nodeKey is a node of a CUDA graph of a process.
type nodeKey struct{ process, node int64 }

// nameNodes finds the ranges in which nodes of CUDA graphs were made or captured: that around the creation of the node, or of
// the one that it is a copy of.
func (t *tables) nameNodes(byThread []int32) {
	if len(t.nodes) == 0 {
		return
	}
	t.sweep(byThread, t.nodes)
	t.capturedIn = make(map[nodeKey]int32)
	for i := range t.nodes {
		n := &t.nodes[i]
		key := nodeKey{t.threads[n.thread].process, n.correlation}
		if _, ok := t.capturedIn[key]; !ok && n.at >= 0 && t.copies[key] == 0 {
			t.capturedIn[key] = n.at
		}
	}
	t.nodes = nil
}

// maxCopies is how many copies of copies of nodes are followed.
const maxCopies = 16

// nodeName returns the name of the range in which a node of a process was captured, "" where it is not known.
func (t *tables) nodeName(process, node int64) string {
	key := nodeKey{process, node}
	for range maxCopies {
		if at, ok := t.capturedIn[key]; ok {
			return t.symbols.text(t.ranges[at].name)
		}
		if key.node = t.copies[key]; key.node == 0 {
			break
		}
	}
	return ""
}

func (t *tables) mark(i int32) *marks.Mark {
	name := t.ranges[i].name
	return t.marks.Of(name, t.symbols.text(name))
}

// findSteps finds the steps of each process, from ranges on whatever thread. Operators of PyTorch are none
// for coming again.
func (r *reader) findSteps(byThread []int32) {
	t := &r.tables
	step := func(r *timeRange) marks.Step {
		return marks.Step{Process: t.threads[r.thread].process, Start: r.start, End: r.end, Name: r.name}
	}
	for i := range t.ranges {
		if m := t.mark(int32(i)); m.IsStep() {
			t.steps.Add(m, step(&t.ranges[i]))
		}
	}
	t.steps.Settle(func(yield func(uint32, marks.Step) bool) {
		for _, i := range byThread {
			if o := &t.ranges[i]; o.parent < 0 && o.plain && !t.mark(i).IsKnown() && !yield(o.thread, step(o)) {
				return
			}
		}
	})
	r.more(len(t.marks)*int(unsafe.Sizeof(uintptr(0))) + len(t.steps)*int(unsafe.Sizeof(marks.Step{})))
}

// byThread returns the ranges of each thread one after another, in order of time, outer ones first.
func (t *tables) byThread() []int32 {
	order := make([]int32, len(t.ranges))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &t.ranges[i], &t.ranges[j]
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(i, j))
	})
	return order
}

// maxOverlaps is how many ranges that end too early are passed over to find one around another.
const maxOverlaps = 64

// begin adds a range to those that are open.
func (t *tables) begin(open []int32, i int32) []int32 {
	r := &t.ranges[i]
	open = t.stillOpen(open, r.thread, r.start)
	for n := len(open) - 1; n >= max(0, len(open)-maxOverlaps); n-- {
		if o := &t.ranges[open[n]]; r.end <= o.end && r.start < o.end {
			r.parent = open[n]
			break
		}
	}
	return append(open, i)
}

// stillOpen takes the ranges off the top that had ended by a time or are of another thread. One
// without a duration is open at its start.
func (t *tables) stillOpen(open []int32, thread uint32, at int64) []int32 {
	for n := len(open); n > 0; n-- {
		if r := &t.ranges[open[n-1]]; r.thread == thread && (r.end > at || r.start == at) {
			return open[:n]
		}
	}
	return open[:0]
}

// launchOf returns the call of a process with a correlation id, nil for none.
func (t *tables) launchOf(process, correlation int64) *launch {
	i := sort.Search(len(t.launches), func(i int) bool {
		l := &t.launches[i]
		return cmp.Or(cmp.Compare(t.threads[l.thread].process, process), cmp.Compare(l.correlation, correlation)) >= 0
	})
	if i < len(t.launches) && t.launches[i].correlation == correlation && t.threads[t.launches[i].thread].process == process {
		return &t.launches[i]
	}
	return nil
}
