package analyze

import (
	"iter"

	"github.com/optrace/optrace/op"
)

// Node is an operation or another span of a [Forest]. It is valid as long as
// nothing is added to the forest. The zero Node stands for no node; its methods
// return zero values.
type Node struct {
	forest *Forest
	row    int32
}

// node returns row r.
func (f *Forest) node(r int32) Node { return Node{f, r} }

// IsZero reports whether n stands for no node.
func (n Node) IsZero() bool { return n.forest == nil }

// Index returns how many operations and spans were added to the forest before n.
func (n Node) Index() int { return int(n.row) }

// has reports whether the flag is set on n.
func (n Node) has(flag rowFlag) bool { return n.forest != nil && n.forest.has(n.row, flag) }

// IsOp reports whether n is an operation.
func (n Node) IsOp() bool { return n.has(flagOp) }

// IsOrphan reports whether n is an operation with a parent that was not read.
func (n Node) IsOrphan() bool { return n.has(flagOrphan) }

// IsDuplicate reports whether the ids of n were seen before, which keeps it out
// of the tree.
func (n Node) IsDuplicate() bool { return n.has(flagDuplicate) }

// Name returns the name of the operation or span.
func (n Node) Name() string {
	if n.IsZero() {
		return ""
	}
	return n.forest.rowName(n.row)
}

// Service returns the service of a span; "" for an operation.
func (n Node) Service() string {
	if n.IsZero() || n.IsOp() {
		return ""
	}
	return n.forest.dict.spans.Values[n.forest.name(n.row)].service
}

// Kind returns the kind of an operation; op.KindUnknown for another span.
func (n Node) Kind() op.Kind {
	if n.IsZero() {
		return op.KindUnknown
	}
	return n.forest.kind(n.row)
}

// Side returns the side of an operation; op.SideNone for another span.
func (n Node) Side() op.Side {
	if n.has(flagHost) {
		return op.SideHost
	}
	return op.SideNone
}

// Device returns the device of an operation; the zero DeviceKey for another
// span.
func (n Node) Device() DeviceKey {
	if !n.IsOp() {
		return DeviceKey{}
	}
	return n.forest.deviceKey(n.row)
}

// TraceID returns the id of the trace; zero for a local one, which says no more
// than what lies below n (see [op.LocalTraceID]).
func (n Node) TraceID() op.TraceID {
	if n.IsZero() || n.forest.isLocal(n.row) {
		return op.TraceID{}
	}
	return n.forest.dict.traces.Values[n.forest.trace(n.row)]
}

// isLocal reports whether row r is in a local trace.
func (f *Forest) isLocal(r int32) bool { return f.dict.traces.Values[f.trace(r)].IsLocal() }

// SpanID returns the id of n; zero in a local trace.
func (n Node) SpanID() op.SpanID {
	if n.IsZero() || n.forest.isLocal(n.row) {
		return op.SpanID{}
	}
	return spanID(n.forest.span(n.row))
}

// Start returns the start in Unix nanoseconds.
func (n Node) Start() op.Int {
	if !n.has(flagStart) {
		return op.Int{}
	}
	return op.Known(n.forest.start(n.row))
}

// Duration returns the duration in nanoseconds.
func (n Node) Duration() int64 {
	if n.IsZero() {
		return 0
	}
	return n.forest.duration(n.row)
}

// Parent returns the node above n; the zero Node for a root, an orphan and a
// duplicate.
func (n Node) Parent() Node {
	if n.IsZero() || n.forest.tree.parent[n.row] == noRow {
		return Node{}
	}
	return n.forest.node(n.forest.tree.parent[n.row])
}

// Children returns the nodes directly below n, the last to end first.
func (n Node) Children() iter.Seq[Node] {
	if n.IsZero() {
		return func(func(Node) bool) {}
	}
	return n.forest.nodes(n.forest.tree.children(n.row))
}

// Roots returns the nodes without a parent, orphans included, grouped by trace in
// the order of the input.
func (f *Forest) Roots() iter.Seq[Node] {
	f.build()
	return f.nodes(f.tree.roots)
}

func (f *Forest) nodes(rows []int32) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for _, r := range rows {
			if !yield(f.node(r)) {
				return
			}
		}
	}
}

// rowName returns the name of the operation or span in row r.
func (f *Forest) rowName(r int32) string {
	if f.has(r, flagOp) {
		return f.dict.operations.Values[f.name(r)]
	}
	return f.dict.spans.Values[f.name(r)].name
}
