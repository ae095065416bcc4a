package analyze

import (
	"iter"

	"github.com/optrace/optrace/op"
)

// Node is an operation or a span of a [Trace]. It is valid as long as nothing
// is added to the trace. The zero Node stands for none.
type Node struct {
	trace *Trace
	row   int32
}

// IsZero reports whether n stands for none.
func (n Node) IsZero() bool { return n.trace == nil }

// Index returns how many operations and spans were added to the trace before n.
func (n Node) Index() int { return int(n.row) }

// IsOp reports whether n is an operation, not another span.
func (n Node) IsOp() bool { return n.trace.has(n.row, flagOp) }

// Name returns the name of the operation or span.
func (n Node) Name() string { return n.trace.rowName(n.row) }

// Service returns the service of a span; "" for an operation.
func (n Node) Service() string {
	if n.IsOp() {
		return ""
	}
	return n.trace.dict.spans.values[n.trace.name(n.row)].service
}

// Kind returns the kind of an operation; op.KindUnknown for a span.
func (n Node) Kind() op.Kind { return n.trace.kind(n.row) }

// Side returns the side of an operation; op.SideNone for a span.
func (n Node) Side() op.Side {
	if n.trace.has(n.row, flagHost) {
		return op.SideHost
	}
	return op.SideNone
}

// Device returns the device of an operation; the zero DeviceKey for a span.
func (n Node) Device() DeviceKey {
	if !n.IsOp() {
		return DeviceKey{}
	}
	return n.trace.deviceKey(n.row)
}

// TraceID returns the trace that n belongs to.
func (n Node) TraceID() op.TraceID { return n.trace.dict.traces.values[n.trace.trace(n.row)] }

// SpanID returns the id of n.
func (n Node) SpanID() op.SpanID { return spanID(n.trace.span(n.row)) }

// Start returns the start in Unix nanoseconds.
func (n Node) Start() op.Int {
	if !n.trace.has(n.row, flagStart) {
		return op.Int{}
	}
	return op.Known(n.trace.start(n.row))
}

// Duration returns the duration in nanoseconds.
func (n Node) Duration() int64 { return n.trace.duration(n.row) }

// IsOrphan reports whether n is an operation whose parent was not read.
func (n Node) IsOrphan() bool { return n.trace.has(n.row, flagOrphan) }

// IsDuplicate reports whether the ids of n were seen before, which keeps it
// out of the tree.
func (n Node) IsDuplicate() bool { return n.trace.has(n.row, flagDuplicate) }

// Parent returns what n is below; the zero Node for a root, an orphan and a
// duplicate.
func (n Node) Parent() Node {
	if p := n.trace.tree.parent[n.row]; p != noRow {
		return Node{n.trace, p}
	}
	return Node{}
}

// Children returns what is directly below n, the last to end first.
func (n Node) Children() iter.Seq[Node] { return n.trace.nodes(n.trace.tree.children(n.row)) }

// Roots returns what has no parent in the tree, orphans included, grouped by
// trace in the order of the input.
func (t *Trace) Roots() iter.Seq[Node] {
	t.Build()
	return t.nodes(t.tree.roots)
}

func (t *Trace) nodes(rows []int32) iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for _, r := range rows {
			if !yield(Node{t, r}) {
				return
			}
		}
	}
}

// rowName returns the name of the operation or span in row r.
func (t *Trace) rowName(r int32) string {
	if t.has(r, flagOp) {
		return t.dict.operations.values[t.name(r)]
	}
	return t.dict.spans.values[t.name(r)].name
}
