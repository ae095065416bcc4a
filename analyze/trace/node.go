package trace

import (
	"iter"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/op"
)

// Node is an operation or another span of a [Forest]. It is valid as long as
// nothing is added to the forest. The zero Node stands for no node; its methods
// return zero values.
type Node struct {
	Forest *Forest
	Row    int32
}

// Node returns row r.
func (f *Forest) Node(r int32) Node { return Node{f, r} }

// IsZero reports whether n stands for no node.
func (n Node) IsZero() bool { return n.Forest == nil }

// Index returns how many operations and spans were added to the forest before n.
func (n Node) Index() int { return int(n.Row) }

func (n Node) has(flag Flags) bool { return n.Forest != nil && n.Forest.Has(n.Row, flag) }

// IsOp reports whether n is an operation.
func (n Node) IsOp() bool { return n.has(FlagOp) }

// IsOrphan reports whether n is an operation with a parent that was not read.
func (n Node) IsOrphan() bool { return n.has(flagOrphan) }

// IsDuplicate reports whether the ids of n were seen before, which keeps it out
// of the tree.
func (n Node) IsDuplicate() bool { return n.has(FlagDuplicate) }

// of returns what a method of forests says of the row of n; the zero value for no node.
func of[T any](n Node, get func(f *Forest, r int32) T) (v T) {
	if n.Forest != nil {
		v = get(n.Forest, n.Row)
	}
	return v
}

// Name returns the name of the operation or span.
func (n Node) Name() string { return of(n, (*Forest).RowName) }

// Service returns the service of a span; "" for an operation.
func (n Node) Service() string {
	return of(n, func(f *Forest, r int32) string {
		if f.Has(r, FlagOp) {
			return ""
		}
		return f.Names.Spans.Values[f.Name(r)].Service
	})
}

// Kind returns the kind of an operation; op.KindUnknown for another span.
func (n Node) Kind() op.Kind { return of(n, (*Forest).Kind) }

// Side returns the side of an operation; op.SideNone for another span.
func (n Node) Side() op.Side {
	if n.has(FlagHost) {
		return op.SideHost
	}
	return op.SideNone
}

// Device returns the device of an operation; the zero DeviceKey for another
// span.
func (n Node) Device() device.Key {
	if !n.IsOp() {
		return device.Key{}
	}
	return n.Forest.DeviceKey(n.Row)
}

// TraceID returns the id of the trace; zero for a local one, which says no more
// than what lies below n (see [opfile.LocalTraceID]).
func (n Node) TraceID() op.TraceID { return of(n, (*Forest).traceID) }

func (f *Forest) traceID(r int32) op.TraceID {
	if f.IsLocal(r) {
		return op.TraceID{}
	}
	return f.Names.Traces.Values[f.Trace(r)]
}

// SpanID returns the id of n; zero in a local trace.
func (n Node) SpanID() op.SpanID {
	if n.IsZero() || n.Forest.IsLocal(n.Row) {
		return op.SpanID{}
	}
	return SpanID(n.Forest.Span(n.Row))
}

func (n Node) known(flag Flags, get func(f *Forest, r int32) int64) op.Int {
	if !n.has(flag) {
		return op.Int{}
	}
	return op.Known(get(n.Forest, n.Row))
}

// Start returns the start in Unix nanoseconds.
func (n Node) Start() op.Int { return n.known(FlagStart, (*Forest).Start) }

// Duration returns the duration in nanoseconds.
func (n Node) Duration() int64 { return of(n, (*Forest).Duration) }

// nodeOf returns the node of a row of the forest of n that may be NoRow.
func (n Node) nodeOf(row int32) Node {
	if row == NoRow {
		return Node{}
	}
	return n.Forest.Node(row)
}

// Parent returns the node above n; the zero Node for a root, an orphan and a
// duplicate.
func (n Node) Parent() Node {
	return of(n, func(f *Forest, r int32) Node { return n.nodeOf(f.Tree.Parent[r]) })
}

// Children returns the nodes directly below n, the last to end first.
func (n Node) Children() iter.Seq[Node] {
	return n.Forest.NodesOf(of(n, func(f *Forest, r int32) []int32 { return f.Tree.Children(r) }))
}

// Roots returns the nodes without a parent, orphans included, grouped by trace in
// the order of the input.
func (f *Forest) Roots() iter.Seq[Node] {
	f.Build()
	return f.NodesOf(f.Tree.Roots)
}

// NodesOf yields the nodes of rows.
func (f *Forest) NodesOf(rows []int32) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for _, r := range rows {
			if !yield(f.Node(r)) {
				return
			}
		}
	}
}

// Nodes returns all operations and spans in the order of the input.
func (f *Forest) Nodes() iter.Seq[Node] {
	f.Build()
	return func(yield func(Node) bool) {
		for r := range int32(f.Len()) {
			if f.EndedAt(int(r)) || !yield(f.Node(r)) {
				return
			}
		}
	}
}

// Stream returns the device's queue that the operation ran on.
func (n Node) Stream() op.Int {
	if !n.IsOp() {
		return op.Int{}
	}
	return n.Forest.Names.Lanes.Values[n.Forest.Lane(n.Row)].Stream
}

// Step returns the iteration that the operation belongs to.
func (n Node) Step() op.Int { return n.known(FlagStep, (*Forest).Step) }

// MemoryBytes returns the memory of the operation; 0 is not distinguished from
// unknown.
func (n Node) MemoryBytes() int64 { return of(n, (*Forest).Memory) }

// FLOPs returns the floating-point operations of the operation, as recorded or as they
// follow from its shapes; 0 is not distinguished from unknown.
func (n Node) FLOPs() int64 { return of(n, (*Forest).Flops) }

// Shapes returns the shapes and the element type of the operation as text, such
// as "64x784, 784x256 → 64x256 f32"; "" where they are not known or the forest
// was not made to keep them.
func (n Node) Shapes() string {
	return of(n, func(f *Forest, r int32) string { return f.Names.Shapes.Values[f.Shape(r)] })
}

// Failure reports whether the operation or span ended with an error, and returns the text of it, "" where none is known.
func (n Node) Failure() (text string, failed bool) {
	if !n.has(FlagFailed) {
		return "", false
	}
	return n.Forest.ErrorText(n.Row), true
}

// Arguments returns how a kernel was launched, its grid, block and so on, as a JSON object with the names of PyTorch's
// profiler; "" where nothing is known or the forest was not made to keep it.
func (n Node) Arguments() string {
	return of(n, func(f *Forest, r int32) string { return f.Names.Arguments.Values[f.Arguments(r)] })
}

// Launch returns when the host handed the operation to its device, in Unix
// nanoseconds.
func (n Node) Launch() op.Int { return n.known(FlagLaunch, (*Forest).Launch) }

// Launcher returns the operator on the host that launched the operation, see [Forest.Launcher].
func (n Node) Launcher() Node {
	return of(n, func(f *Forest, r int32) Node { return n.nodeOf(f.Launcher(r)) })
}

// Links returns the operations and spans that the links of n lead to, as far as they
// are in the input.
func (n Node) Links() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if n.IsZero() {
			return
		}
		f := n.Forest
		f.Build()
		first, links := linksOf(f.links, n.Row)
		for i := range links {
			if to := f.Tree.target[first+i]; to != NoRow && !yield(f.Node(to)) {
				return
			}
		}
	}
}
