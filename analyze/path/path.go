package path

import (
	"iter"
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Path is a critical path: the chain of work behind a duration. Its segments have no gaps and add up to DurationNS.
type Path struct {
	// StartNS is in Unix nanoseconds.
	StartNS, DurationNS int64
	// Segments are sorted by time.
	Segments []Segment
	// Edges counts the reasons for the order of the segments.
	Edges Edges
}

// Segment is a time on the critical path within one operation or span, but not within its children.
type Segment struct {
	// Node is the zero Node while no recorded span was running.
	Node trace.Node
	// StartNS is in Unix nanoseconds.
	StartNS, DurationNS int64
}

// Edges counts the steps of a path from one span to another, by the reason.
type Edges struct {
	// Tree counts steps to the last child to finish before the path continues.
	Tree int64 `json:"tree"`
	// Links counts steps to a shared execution linked to the span.
	Links int64 `json:"links"`
	// Stream and Collective count further edges of the drag: operations behind another on their stream, and operations
	// held up in a collective by the last device to arrive.
	Stream     int64 `json:"stream,omitzero"`
	Collective int64 `json:"collective,omitzero"`
}

// Of returns the critical path of n and the nodes below it. It returns nil for the zero Node and for a node without a
// start.
//
// The path goes back from the end of n through the last child to finish, then through the last child to finish before
// the start of the former, and so on, likewise within each child. The time in between is n's own. Children are clipped
// to their parent.
//
//	request     [0,100)
//	  embed     [10,30)
//	  matmul    [20,60)     on the path: finished last before softmax started
//	  softmax   [60,90)     on the path: finished last
//
//	request 20, matmul 40, softmax 30, request 10
//
// Unlike Jaeger's path, a child finishing in the nanosecond of the next one's start counts as its cause, and a shared
// execution counts as a child of the linked spans and their ancestors.
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

// Window is a row and a part of its time.
type Window struct {
	Row      int32 // trace.NoRow for a whole trace with several roots
	From, To int64
}

// pathFrame is a row on the stack of a walk.
type pathFrame struct {
	Window
	at       int64   // the path is settled from here on
	children []int32 // still to be visited, the last to end first
	linked   bool    // reached through a link to an execution
}

// Walk finds critical paths. It reuses its memory.
type Walk struct {
	stack  []pathFrame
	linked int // visited rows within executions
}

// minLinked bounds the rows of executions visited by all walks of a Walk, or four times the forest's rows if larger: many
// requests may share a long execution. Later rows are treated as leaves.
const minLinked = 1 << 20

// Run walks back from the end of w and calls emit for each segment, the last first. If w has no row, roots are its
// children: at any time the path is in the running root with the latest end. Run does not enter children accepted by
// pass, if not nil, and returns the edges outside such children. Time is linear in the nodes below w.
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

// next takes the next child on the path from frame: the last child to finish before frame.at, clipped to the frame's
// window. Among roots it is the running root with the latest end, clipped to frame.at.
func next(f *trace.Forest, frame *pathFrame) (child Window, found bool) {
	limit := frame.To
	if frame.Row == trace.NoRow {
		limit = frame.at
	}
	for len(frame.children) > 0 {
		r := frame.children[0]
		frame.children = frame.children[1:]
		if !f.Has(r, trace.FlagStart) {
			frame.children = nil // children without a start come last
			break
		}
		child = Window{Row: r, From: max(f.Start(r), frame.From), To: min(f.End(r), limit)}
		if child.From < child.To && child.To <= frame.at {
			return child, true
		}
		if frame.at < child.To {
			frame.children = frame.children[endedBy(f, frame.children, frame.at):]
		}
	}
	return Window{}, false
}

// endedBy returns how many children end after at. children are sorted by end, the last first. The search is galloping.
func endedBy(f *trace.Forest, children []int32, at int64) int {
	later := func(i int) bool { return f.Has(children[i], trace.FlagStart) && f.End(children[i]) > at }
	n := 1
	for n <= len(children) && later(n-1) {
		n *= 2
	}
	return n/2 + sort.Search(min(n, len(children)+1)-n/2-1, func(i int) bool { return !later(n/2 + i) })
}

// traceWindows yields the roots of each trace with a start, in input order, with the window of its critical path: the
// window of its root, or the extent of several roots. It leaves out local traces, and traces with only shared executions:
// these are on the paths of requests.
func traceWindows(f *trace.Forest) iter.Seq2[Window, []int32] {
	return func(yield func(Window, []int32) bool) {
		for roots := range traceRoots(f) {
			if f.Ended() {
				return
			}
			// Roots with a start come first.
			if !isTraced(f, roots[0]) || !f.Has(roots[0], trace.FlagStart) || areShared(f, roots) {
				continue
			}
			if !yield(windowOf(f, roots), roots) {
				return
			}
		}
	}
}

// areShared reports whether all roots are executions for a request with a critical path of its own.
func areShared(f *trace.Forest, roots []int32) bool {
	if f.Executions.Of == nil {
		return false
	}
	hasPath := func(q int32) bool { return int(q) < f.Len() && f.Has(q, trace.FlagStart) && isTraced(f, q) }
	return !slices.ContainsFunc(roots, func(r int32) bool {
		e := f.Executions.Of[r]
		return e == trace.NoExecution || f.Executions.List[e].Row != r ||
			!slices.ContainsFunc(f.Executions.List[e].Requests, hasPath)
	})
}

// isTraced reports whether row r belongs to a trace, and not to a local one.
func isTraced(f *trace.Forest, r int32) bool { return f.Trace(r) != 0 && !f.IsLocal(r) }

// traceRoots returns the roots of each trace in input order. Roots without a trace id form one group.
func traceRoots(f *trace.Forest) iter.Seq[[]int32] {
	return order.RunsOf(f.Tree.Roots, func(r *int32) int32 { return f.Trace(*r) })
}

// windowOf returns the window of a single root, or the extent of several.
func windowOf(f *trace.Forest, roots []int32) Window {
	w := Window{Row: roots[0], From: f.Start(roots[0]), To: f.End(roots[0])}
	for _, r := range roots[1:] {
		w.Row = trace.NoRow
		if f.Has(r, trace.FlagStart) {
			w.From = min(w.From, f.Start(r))
			w.To = max(w.To, f.End(r))
		}
	}
	return w
}
