package analyze

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/op"
)

// CriticalPath is the chain of work that decided how long something took. Its
// segments follow each other without a gap and add up to Duration.
type CriticalPath struct {
	// Start is in Unix nanoseconds, Duration in nanoseconds.
	Start, Duration int64
	// Segments are in the order of time.
	Segments []Segment
	// Edges says where the order of the segments was taken from.
	Edges PathEdges
}

// Segment is a time in which the critical path lies in one operation or span
// itself, not in anything below it.
type Segment struct {
	// Node is the zero Node while nothing that was read was running.
	Node Node
	// Start is in Unix nanoseconds, Duration in nanoseconds.
	Start, Duration int64
}

// PathEdges counts the steps of a path from one operation or span to another
// by what is known of their dependency.
type PathEdges struct {
	// Tree: the latter is the last child to finish before the path goes on.
	Tree int64 `json:"tree"`
}

// CriticalPath returns the critical path of n and of what is below it; nil
// when n is the zero Node or has no start.
//
// From the end of n the path goes back through the child that finished last,
// then the one that finished last before that one started, and so on, and
// within each child likewise. What lies between is n's own. Children are
// clipped to their parent.
//
//	request     [0,100)
//	  embed     [10,30)
//	  matmul    [20,60)     on the path: finished last before softmax started
//	  softmax   [60,90)     on the path: finished last
//
//	request 20, matmul 40, softmax 30, request 10
//
// This is the path that Jaeger draws, but for children that follow each other
// without a gap: Jaeger takes only what finished before the next one started,
// while here a child that finished in the same nanosecond counts as its cause,
// as operations that are recorded back to back are.
func (t *Trace) CriticalPath(n Node) *CriticalPath {
	if n.IsZero() {
		return nil
	}
	t.Build()
	if !t.has(n.row, flagStart) {
		return nil
	}
	return t.collectPath(window{row: n.row, from: t.start(n.row), to: t.end(n.row)}, nil)
}

// CriticalPaths returns each trace with its critical path, in the order of the
// input: the path of its root, or when it has several, orphans among them, the
// path through all of them from the first start to the last end. Traces
// without a start, and what has no trace id, have none.
func (t *Trace) CriticalPaths() iter.Seq2[op.TraceID, *CriticalPath] {
	t.Build()
	return func(yield func(op.TraceID, *CriticalPath) bool) {
		for w, roots := range t.traceWindows() {
			if !yield(t.dict.traces.values[t.trace(roots[0])], t.collectPath(w, roots)) {
				return
			}
		}
	}
}

func (t *Trace) collectPath(w window, roots []int32) *CriticalPath {
	path := &CriticalPath{Start: w.from, Duration: w.to - w.from}
	var walk pathWalk
	walk.run(t, w, roots, func(row int32, from, to int64) {
		s := Segment{Start: from, Duration: to - from}
		if row != noRow {
			s.Node = Node{t, row}
		}
		path.Segments = append(path.Segments, s)
	})
	slices.Reverse(path.Segments)
	path.Edges = walk.edges
	return path
}

// window is a row and the part of its time that the path may lie in.
type window struct {
	row      int32 // noRow for the whole of a trace with several roots
	from, to int64
}

// pathFrame is a row that the walk is in.
type pathFrame struct {
	window
	at       int64   // the path is settled from here on
	children []int32 // still to be looked at, the last to end first
}

// pathWalk finds critical paths; its memory is used again for each.
type pathWalk struct {
	stack []pathFrame
	edges PathEdges
}

// run walks back from the end of w and calls emit for each segment, the last
// first. roots stand for the children of a window that has no row.
//
// The children are taken in order of their end, each once, so that the walk
// takes time linear in what is below w; and it keeps its own stack, because a
// trace may be as deep as it is long.
func (p *pathWalk) run(t *Trace, w window, roots []int32, emit func(row int32, from, to int64)) {
	children := roots
	if w.row != noRow {
		children = t.tree.children(w.row)
	}
	p.stack = append(p.stack[:0], pathFrame{window: w, at: w.to, children: children})
	for len(p.stack) > 0 {
		f := &p.stack[len(p.stack)-1]
		child, found := t.lastFinishing(f)
		if !found {
			if f.from < f.at {
				emit(f.row, f.from, f.at)
			}
			p.stack = p.stack[:len(p.stack)-1]
			continue
		}
		if child.to < f.at {
			emit(f.row, child.to, f.at)
		}
		f.at = child.from
		p.edges.Tree++
		p.stack = append(p.stack, pathFrame{window: child, at: child.to, children: t.tree.children(child.row)})
	}
}

// lastFinishing takes the child that finished last before f.at from f. Those
// that end beyond f's window count as ending with it.
func (t *Trace) lastFinishing(f *pathFrame) (child window, found bool) {
	for len(f.children) > 0 {
		r := f.children[0]
		f.children = f.children[1:]
		if !t.has(r, flagStart) {
			f.children = nil // those come last
			break
		}
		child = window{row: r, from: max(t.start(r), f.from), to: min(t.end(r), f.to)}
		if child.from < child.to && child.to <= f.at {
			return child, true
		}
	}
	return window{}, false
}

// traceWindows returns the roots of each trace that has a start, in the order
// of the input, with the window that its critical path fills.
func (t *Trace) traceWindows() iter.Seq2[window, []int32] {
	return func(yield func(window, []int32) bool) {
		for rest := t.tree.roots; len(rest) > 0; {
			trace := t.trace(rest[0])
			n := slices.IndexFunc(rest, func(r int32) bool { return t.trace(r) != trace })
			if n < 0 {
				n = len(rest)
			}
			roots := rest[:n]
			rest = rest[n:]
			if trace == 0 || !t.has(roots[0], flagStart) { // known starts come first
				continue
			}
			if !yield(t.windowOf(roots), roots) {
				return
			}
		}
	}
}

// windowOf returns the window of a single root, or the time that several span.
func (t *Trace) windowOf(roots []int32) window {
	w := window{row: roots[0], from: t.start(roots[0]), to: t.end(roots[0])}
	for _, r := range roots[1:] {
		w.row = noRow
		if t.has(r, flagStart) {
			w.from, w.to = min(w.from, t.start(r)), max(w.to, t.end(r))
		}
	}
	return w
}
