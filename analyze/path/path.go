package path

import (
	"iter"
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Path is the chain of work that decided how long something took. Its
// segments follow each other without a gap and add up to Duration.
type Path struct {
	// StartNS is in Unix nanoseconds.
	StartNS, DurationNS int64
	// Segments are in the order of time.
	Segments []Segment
	// Edges says where the order of the segments was taken from.
	Edges Edges
}

// Segment is a time in which the critical path lies in one operation or span
// itself, not in anything below it.
type Segment struct {
	// Node is the zero Node while nothing that was read was running.
	Node trace.Node
	// StartNS is in Unix nanoseconds.
	StartNS, DurationNS int64
}

// Edges counts the steps of a path from one operation or span to another
// by the knowledge of their dependency.
type Edges struct {
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

// Of returns the critical path of n and the nodes below it; nil
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
// Unlike on the path that Jaeger draws, a child that finished in the nanosecond in which the next one started
// counts as its cause, and a shared execution as a child of the spans that it links to, and of those above.
func Of(f *trace.Forest, n trace.Node) *Path {
	if n.IsZero() {
		return nil
	}
	f.Build()
	if !f.Has(n.Row, trace.FlagStart) {
		return nil
	}
	return collectPath(f, Window{Row: n.Row, From: f.Start(n.Row), To: f.End(n.Row)}, nil)
}

func collectPath(f *trace.Forest, w Window, roots []int32) *Path {
	path := &Path{StartNS: w.From, DurationNS: w.To - w.From}
	path.Edges = new(Walk).Run(f, w, roots, nil, func(row int32, from, to int64) {
		s := Segment{StartNS: from, DurationNS: to - from}
		if row != trace.NoRow {
			s.Node = f.Node(row)
		}
		path.Segments = append(path.Segments, s)
	})
	slices.Reverse(path.Segments)
	return path
}

// Window is a row and a part of its time: one that the path may lie in, or a segment of it.
type Window struct {
	Row      int32 // trace.NoRow for the whole of a trace with several roots
	From, To int64
}

// pathFrame is a row that the walk is in.
type pathFrame struct {
	Window
	at       int64   // the path is settled from here on
	children []int32 // still to be looked at, the last to end first
	linked   bool    // within an execution that the walk came to by a link
}

// Walk finds critical paths; its memory is used again for each.
type Walk struct {
	stack  []pathFrame
	linked int // rows within executions that it has been in
}

// minLinked is how many rows within executions all walks of a Walk may be in at least, four of each row of the forest on
// average: many requests may share what is long. Further ones are passed as if nothing lay below them.
const minLinked = 1 << 20

// Run walks back from the end of w and calls emit for each segment, the last
// first. roots stand for the children of a window that has no row: at any time the
// path goes through the one of them that runs and ends last. A child that pass, if not nil, reports true of is not
// entered. It returns the steps of the path outside these. The time is linear in the nodes below w.
func (p *Walk) Run(
	forest *trace.Forest, w Window, roots []int32, pass func(Window) bool, emit func(row int32, from, to int64),
) (edges Edges) {
	children := roots
	if w.Row != trace.NoRow {
		children = forest.PathChildren(w.Row)
	}
	p.stack = append(p.stack[:0], pathFrame{Window: w, at: w.To, children: children})
	for n := 1; len(p.stack) > 0 && !forest.EndedAt(n); n++ {
		f := &p.stack[len(p.stack)-1]
		child, found := next(forest, f)
		if !found {
			if f.From < f.at {
				emit(f.Row, f.From, f.at)
			}
			p.stack = p.stack[:len(p.stack)-1]
			continue
		}
		if child.To < f.at {
			emit(f.Row, child.To, f.at)
		}
		f.at = child.From
		linked := f.linked
		if f.Row != trace.NoRow && forest.Tree.Parent[child.Row] != f.Row {
			edges.Links++
			linked = true
		} else {
			edges.Tree++
		}
		if pass != nil && pass(child) {
			continue
		}
		into := pathFrame{Window: child, at: child.To, children: forest.PathChildren(child.Row), linked: linked}
		if linked {
			p.linked++
		}
		if p.linked > max(minLinked, 4*forest.Len()) {
			into.children = nil
		}
		p.stack = append(p.stack, into)
	}
	return edges
}

// next takes from frame the child through which the path goes on: the one that
// finished last before frame.at, where children that end after the frame's window
// count as ending with it. Of the roots of a trace it is the one that runs before
// frame.at and ends last, where those that end later count as ending then.
func next(f *trace.Forest, frame *pathFrame) (child Window, found bool) {
	limit := frame.To
	if frame.Row == trace.NoRow {
		limit = frame.at
	}
	for len(frame.children) > 0 {
		r := frame.children[0]
		frame.children = frame.children[1:]
		if !f.Has(r, trace.FlagStart) {
			frame.children = nil // those come last
			break
		}
		child = Window{Row: r, From: max(f.Start(r), frame.From), To: min(f.End(r), limit)}
		if child.From < child.To && child.To <= frame.at {
			return child, true
		}
		if frame.at < child.To { // those that end later are of no use, either
			frame.children = frame.children[endedBy(f, frame.children, frame.at):]
		}
	}
	return Window{}, false
}

// endedBy returns how many of children, the last to end first, end later than at. It takes little time where it is few of them.
func endedBy(f *trace.Forest, children []int32, at int64) int {
	later := func(i int) bool { return f.Has(children[i], trace.FlagStart) && f.End(children[i]) > at }
	n := 1
	for n <= len(children) && later(n-1) {
		n *= 2
	}
	return n/2 + sort.Search(min(n, len(children)+1)-n/2-1, func(i int) bool { return !later(n/2 + i) })
}

// traceWindows returns the roots of each trace that has a start, in the order
// of the input, with the window that its critical path fills: that of its root, or from the first start to the last end
// of several. Local traces are left out, and so are those of shared executions alone, which are on the paths of requests.
func traceWindows(f *trace.Forest) iter.Seq2[Window, []int32] {
	return func(yield func(Window, []int32) bool) {
		for roots := range traceRoots(f) {
			if f.Ended() {
				return
			}
			if !isTraced(f, roots[0]) || !f.Has(roots[0], trace.FlagStart) || areShared(f, roots) { // known starts come first
				continue
			}
			if !yield(windowOf(f, roots), roots) {
				return
			}
		}
	}
}

// areShared reports whether all of the roots are executions that work for a request
// with a critical path of its own.
func areShared(f *trace.Forest, roots []int32) bool {
	if f.Executions.Of == nil {
		return false
	}
	return !slices.ContainsFunc(roots, func(r int32) bool {
		e := f.Executions.Of[r]
		return e == trace.NoExecution || f.Executions.List[e].Row != r || !slices.ContainsFunc(f.Executions.List[e].Requests, func(q int32) bool {
			return int(q) < f.Len() && f.Has(q, trace.FlagStart) && isTraced(f, q)
		})
	})
}

// isTraced reports whether row r belongs to a trace that says what waited for
// what: neither to none nor to a local one.
func isTraced(f *trace.Forest, r int32) bool { return f.Trace(r) != 0 && !f.IsLocal(r) }

// traceRoots returns the roots of each trace in the order of the input, and
// together those without a trace id.
func traceRoots(f *trace.Forest) iter.Seq[[]int32] {
	return order.RunsOf(f.Tree.Roots, func(r *int32) int32 { return f.Trace(*r) })
}

// windowOf returns the window of a single root, or the time that several span.
func windowOf(f *trace.Forest, roots []int32) Window {
	w := Window{Row: roots[0], From: f.Start(roots[0]), To: f.End(roots[0])}
	for _, r := range roots[1:] {
		w.Row = trace.NoRow
		if f.Has(r, trace.FlagStart) {
			w.From, w.To = min(w.From, f.Start(r)), max(w.To, f.End(r))
		}
	}
	return w
}
