package analyze

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/op"
)

// Request is a local root that is no operation, such as the server span of an
// HTTP request, and what its operations did.
type Request struct {
	// Name and Service are those of the span; when it was not read, Name is what
	// its operations say and Service is "".
	Name    string
	Service string
	TraceID op.TraceID
	SpanID  op.SpanID
	// Start is in Unix nanoseconds, Duration in nanoseconds; unknown when the
	// span was not read.
	Start    op.Int
	Duration op.Int
	// Uncovered is the time of the request in which none of its operations ran,
	// in nanoseconds.
	Uncovered op.Int
	// Queueing is the time from the start of the request to that of its first
	// operation, in nanoseconds, 0 when that starts earlier; unknown without
	// operations that have a start.
	Queueing op.Int
	// Root is the request's span; the zero Node when it was not read.
	Root Node

	trace *Trace
	ops   []int32
}

// Ops returns the number of operations that belong to the request.
func (r *Request) Ops() int { return len(r.ops) }

// Operations returns the operations that belong to the request, in the order
// of the input.
func (r *Request) Operations() iter.Seq[Node] { return r.trace.nodes(r.ops) }

// Requests are the requests of a [Trace].
type Requests struct {
	// List has the requests by start, those without a start last; in the order
	// of the input where that is equal.
	List []Request

	trace      *Trace
	unattached []int32
}

// Unattached returns the operations that belong to no request, in the order of
// the input.
func (r *Requests) Unattached() iter.Seq[Node] { return r.trace.nodes(r.unattached) }

// UnattachedOps returns how many operations belong to no request.
func (r *Requests) UnattachedOps() int { return len(r.unattached) }

// Requests returns the local roots that are no operations, with or without
// operations, and what belongs to each.
//
// A span is a local root when it has no parent among the spans read, when its
// parent is in another process, or when an operation names it as its root. An
// operation belongs to the first one above it. Where the walk up ends at an
// operation, the root that this names decides; a root that is named and was
// not read is a request without times. Duplicates are left out.
//
//	POST /predict   [0,100)    2 ops, uncovered 100 − 70 = 30, queueing 10
//	  matmul          [10,50)
//	  softmax         [40,80)
func (t *Trace) Requests() *Requests {
	t.Build()
	owner := t.requestOwners()
	all := &Requests{trace: t}
	ops, first := groupRows(t.n, t.rows()+len(t.dict.stamps.values), func(r int32) int32 {
		if !t.has(r, flagOp) {
			return noRow
		}
		return owner[r]
	})
	for o := range int32(len(first) - 1) {
		mine := ops[first[o]:first[o+1]:first[o+1]]
		switch {
		case int(o) >= t.rows():
			if len(mine) > 0 {
				all.List = append(all.List, t.namedRequest(o-int32(t.rows()), mine))
			}
		case owner[o] == o && !t.has(o, flagOp):
			all.List = append(all.List, t.request(o, mine))
		}
	}
	for r := range int32(t.rows()) {
		if t.has(r, flagOp) && owner[r] == noRow && !t.has(r, flagDuplicate) {
			all.unattached = append(all.unattached, r)
		}
	}
	slices.SortStableFunc(all.List, func(a, b Request) int {
		switch {
		case a.Start.Known != b.Start.Known && a.Start.Known:
			return -1
		case a.Start.Known != b.Start.Known:
			return 1
		}
		return compareInt(a.Start.V, b.Start.V)
	})
	return all
}

// requestOwners returns, for each row, the row of the request that it belongs
// to; the number of rows plus that of a stamp for a request that was not read;
// noRow for none.
func (t *Trace) requestOwners() []int32 {
	owner := make([]int32, t.rows())
	for r := range owner {
		owner[r] = noRow
	}
	named := make(map[int32]bool) // rows that a stamp names
	for _, r := range t.tree.stampRow {
		if r != noRow && !t.has(r, flagOp) {
			named[r] = true
		}
	}
	pending := slices.Clone(t.tree.roots)
	for len(pending) > 0 {
		r := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		parent := t.tree.parent[r]
		switch {
		case !t.has(r, flagOp) && (parent == noRow || t.has(r, flagRemote) || named[r]):
			owner[r] = r
		case parent != noRow && owner[parent] != noRow:
			owner[r] = owner[parent]
		case t.has(r, flagOp):
			owner[r] = t.namedOwner(t.stamp(r))
		}
		pending = append(pending, t.tree.children(r)...)
	}
	return owner
}

// namedOwner returns the owner that a stamp stands for.
func (t *Trace) namedOwner(s int32) int32 {
	if s == 0 {
		return noRow
	}
	root := t.tree.stampRow[s]
	switch {
	case root == noRow:
		return int32(t.rows()) + s
	case t.has(root, flagOp):
		return noRow // the local root is an operation
	}
	return root
}

// request describes the request in row root.
func (t *Trace) request(root int32, ops []int32) Request {
	n := Node{t, root}
	r := Request{
		Name: n.Name(), Service: n.Service(), TraceID: n.TraceID(), SpanID: n.SpanID(),
		Start: n.Start(), Duration: op.Known(n.Duration()), Root: n,
		trace: t, ops: ops,
	}
	if !r.Start.Known {
		return r
	}
	byEnd := slices.Clone(ops)
	t.sortByEnd(byEnd)
	covered := newCoverage(t.start(root), t.end(root))
	for _, o := range byEnd {
		if !t.has(o, flagStart) {
			break // those come last
		}
		covered.add(t.start(o), t.end(o))
		queueing := max(0, t.start(o)-r.Start.V)
		if !r.Queueing.Known || queueing < r.Queueing.V {
			r.Queueing = op.Known(queueing)
		}
	}
	r.Uncovered = op.Known(r.Duration.V - covered.covered)
	return r
}

// namedRequest describes a request whose span was not read.
func (t *Trace) namedRequest(s int32, ops []int32) Request {
	stamp := t.dict.stamps.values[s]
	return Request{
		Name: stamp.name, TraceID: t.dict.traces.values[stamp.trace], SpanID: spanID(stamp.span),
		trace: t, ops: ops,
	}
}
