package analyze

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/op"
)

// CriticalPath is the chain of work that decided how long something took. Its
// segments follow each other without a gap and add up to Duration.
type CriticalPath struct {
	// StartNS is in Unix nanoseconds.
	StartNS, DurationNS int64
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
	// StartNS is in Unix nanoseconds.
	StartNS, DurationNS int64
}

// PathEdges counts the steps of a path from one operation or span to another
// by the knowledge of their dependency.
type PathEdges struct {
	// Tree: the latter is the last child to finish before the path goes on.
	Tree int64 `json:"tree"`
	// Links: the latter is a shared execution that links to the former.
	Links int64 `json:"links"`
	// Stream and Collective count what the drag goes by beside these: operations that
	// came behind another one on their stream of a device, and those that another device
	// held up in a collective by being the last to arrive.
	Stream     int64 `json:"stream,omitzero"`
	Collective int64 `json:"collective,omitzero"`
}

// CriticalPath returns the critical path of n and the nodes below it; nil
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
// as operations that are recorded back to back are. And a shared execution counts as
// a child of each span of a request that it links to, and of those above, while they
// run; Jaeger leaves it out.
func (f *Forest) CriticalPath(n Node) *CriticalPath {
	if n.IsZero() {
		return nil
	}
	f.build()
	if !f.has(n.row, flagStart) {
		return nil
	}
	return f.collectPath(window{row: n.row, from: f.start(n.row), to: f.end(n.row)}, nil)
}

// CriticalPaths returns each trace with its critical path, in the order of the
// input, but for traces of shared executions alone: the path of its root, or when it has several, orphans among them, the
// path through all of them from the first start to the last end. At any time that
// goes through the root that runs and ends last, and is idle only where none runs.
// Traces
// without a start have none, and neither have nodes without a trace id.
func (f *Forest) CriticalPaths() iter.Seq2[op.TraceID, *CriticalPath] {
	f.build()
	return func(yield func(op.TraceID, *CriticalPath) bool) {
		for w, roots := range f.traceWindows() {
			if !yield(f.dict.traces.Values[f.trace(roots[0])], f.collectPath(w, roots)) {
				return
			}
		}
	}
}

func (f *Forest) collectPath(w window, roots []int32) *CriticalPath {
	path := &CriticalPath{StartNS: w.from, DurationNS: w.to - w.from}
	var walk pathWalk
	walk.run(f, w, roots, nil, func(row int32, from, to int64) {
		s := Segment{StartNS: from, DurationNS: to - from}
		if row != noRow {
			s.Node = f.node(row)
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
// first. roots stand for the children of a window that has no row: at any time the
// path goes through the one of them that runs and ends last.
//
// A child that pass, if not nil, reports true of is not entered. A shared execution
// counts as a child of the spans that it links to. The children are taken in order of their end, each once, so that the walk
// takes time linear in the nodes below w; and it keeps its own stack, because a
// trace may be as deep as it is long.
func (p *pathWalk) run(forest *Forest, w window, roots []int32, pass func(window) bool, emit func(row int32, from, to int64)) {
	children := roots
	if w.row != noRow {
		children = forest.pathChildren(w.row)
	}
	p.stack = append(p.stack[:0], pathFrame{window: w, at: w.to, children: children})
	for len(p.stack) > 0 {
		f := &p.stack[len(p.stack)-1]
		child, found := forest.next(f)
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
		if f.row != noRow && forest.tree.parent[child.row] != f.row {
			p.edges.Links++
		} else {
			p.edges.Tree++
		}
		if pass != nil && pass(child) {
			continue
		}
		p.stack = append(p.stack, pathFrame{window: child, at: child.to, children: forest.pathChildren(child.row)})
	}
}

// next takes from frame the child through which the path goes on: the one that
// finished last before frame.at, where children that end after the frame's window
// count as ending with it. Of the roots of a trace it is the one that runs before
// frame.at and ends last, where those that end later count as ending then.
func (f *Forest) next(frame *pathFrame) (child window, found bool) {
	limit := frame.to
	if frame.row == noRow {
		limit = frame.at
	}
	for len(frame.children) > 0 {
		r := frame.children[0]
		frame.children = frame.children[1:]
		if !f.has(r, flagStart) {
			frame.children = nil // those come last
			break
		}
		child = window{row: r, from: max(f.start(r), frame.from), to: min(f.end(r), limit)}
		if child.from < child.to && child.to <= frame.at {
			return child, true
		}
	}
	return window{}, false
}

// traceWindows returns the roots of each trace that has a start, in the order
// of the input, with the window that its critical path fills. Local traces, which
// do not say what waited for what, are left out, and so are traces of shared
// executions alone: they are on the paths of the requests that they work for.
func (f *Forest) traceWindows() iter.Seq2[window, []int32] {
	return func(yield func(window, []int32) bool) {
		for roots := range f.traceRoots() {
			if !f.isTraced(roots[0]) || !f.has(roots[0], flagStart) || f.areShared(roots) { // known starts come first
				continue
			}
			if !yield(f.windowOf(roots), roots) {
				return
			}
		}
	}
}

// areShared reports whether all of the roots are executions that work for a request
// with a critical path of its own.
func (f *Forest) areShared(roots []int32) bool {
	if f.shared.of == nil {
		return false
	}
	return !slices.ContainsFunc(roots, func(r int32) bool {
		e := f.shared.of[r]
		return e == noExecution || f.shared.list[e].row != r || !slices.ContainsFunc(f.shared.list[e].requests, func(q int32) bool {
			return int(q) < f.Len() && f.has(q, flagStart) && f.isTraced(q)
		})
	})
}

// isTraced reports whether row r belongs to a trace that says what waited for
// what: neither to none nor to a local one.
func (f *Forest) isTraced(r int32) bool { return f.trace(r) != 0 && !f.isLocal(r) }

// traceRoots returns the roots of each trace in the order of the input, and
// together those without a trace id.
func (f *Forest) traceRoots() iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		for rest := f.tree.roots; len(rest) > 0; {
			trace := f.trace(rest[0])
			n := slices.IndexFunc(rest, func(r int32) bool { return f.trace(r) != trace })
			if n < 0 {
				n = len(rest)
			}
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// windowOf returns the window of a single root, or the time that several span.
func (f *Forest) windowOf(roots []int32) window {
	w := window{row: roots[0], from: f.start(roots[0]), to: f.end(roots[0])}
	for _, r := range roots[1:] {
		w.row = noRow
		if f.has(r, flagStart) {
			w.from, w.to = min(w.from, f.start(r)), max(w.to, f.end(r))
		}
	}
	return w
}
