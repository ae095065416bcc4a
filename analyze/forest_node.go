package analyze

import (
	"iter"

	"github.com/optrace/optrace/op"
)

// Node is an operation or a span of a [Forest]. It is valid as long as nothing
// is added to the trace. The zero Node stands for none.
type Node struct {
	forest *Forest
	row    int32
}

// IsZero reports whether n stands for none.
func (n Node) IsZero() bool { return n.forest == nil }

// Index returns how many operations and spans were added to the trace before n.
func (n Node) Index() int { return int(n.row) }

// IsOp reports whether n is an operation, not another span.
func (n Node) IsOp() bool { return n.forest.has(n.row, flagOp) }

// Name returns the name of the operation or span.
func (n Node) Name() string { return n.forest.rowName(n.row) }

// Service returns the service of a span; "" for an operation.
func (n Node) Service() string {
	if n.IsOp() {
		return ""
	}
	return n.forest.dict.spans.Values[n.forest.name(n.row)].service
}

// Kind returns the kind of an operation; op.KindUnknown for a span.
func (n Node) Kind() op.Kind { return n.forest.kind(n.row) }

// Side returns the side of an operation; op.SideNone for a span.
func (n Node) Side() op.Side {
	if n.forest.has(n.row, flagHost) {
		return op.SideHost
	}
	return op.SideNone
}

// Device returns the device of an operation; the zero DeviceKey for a span.
func (n Node) Device() DeviceKey {
	if !n.IsOp() {
		return DeviceKey{}
	}
	return n.forest.deviceKey(n.row)
}

// TraceID returns the trace that n belongs to.
func (n Node) TraceID() op.TraceID { return n.forest.dict.traces.Values[n.forest.trace(n.row)] }

// SpanID returns the id of n.
func (n Node) SpanID() op.SpanID { return spanID(n.forest.span(n.row)) }

// Start returns the start in Unix nanoseconds.
func (n Node) Start() op.Int {
	if !n.forest.has(n.row, flagStart) {
		return op.Int{}
	}
	return op.Known(n.forest.start(n.row))
}

// Duration returns the duration in nanoseconds.
func (n Node) Duration() int64 { return n.forest.duration(n.row) }

// IsOrphan reports whether n is an operation whose parent was not read.
func (n Node) IsOrphan() bool { return n.forest.has(n.row, flagOrphan) }

// IsDuplicate reports whether the ids of n were seen before, which keeps it
// out of the tree.
func (n Node) IsDuplicate() bool { return n.forest.has(n.row, flagDuplicate) }

// Parent returns what n is below; the zero Node for a root, an orphan and a
// duplicate.
func (n Node) Parent() Node {
	if p := n.forest.tree.parent[n.row]; p != noRow {
		return Node{n.forest, p}
	}
	return Node{}
}

// Children returns what is directly below n, the last to end first.
func (n Node) Children() iter.Seq[Node] { return n.forest.nodes(n.forest.tree.children(n.row)) }

// Roots returns what has no parent in the tree, orphans included, grouped by
// trace in the order of the input.
func (f *Forest) Roots() iter.Seq[Node] {
	f.Build()
	return f.nodes(f.tree.roots)
}

func (f *Forest) nodes(rows []int32) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for _, r := range rows {
			if !yield(Node{f, r}) {
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
