package requests

import (
	"cmp"
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Request is a local root without being an operation, such as the server span of an HTTP request, with its operations.
type Request struct {
	// If the span was not read, Name is the root stated by operations, Service is "" and times are unknown.
	Name, Service       string
	TraceID             op.TraceID
	SpanID              op.SpanID
	StartNS, DurationNS op.Int
	// OwnNS is the sum of the durations of its operations, SharedNS its part of shared executions, both without the
	// host's view of device work. SharedOps counts the operations of the executions, host's views included.
	OwnNS     int64
	SharedNS  int64
	SharedOps int
	// UncoveredNS is the time without any operation of the request or of its shared executions. QueueingNS is the time
	// from its start to the first of these operations, between 0 and DurationNS. It is unknown without operations with
	// a start.
	UncoveredNS, QueueingNS op.Int
	// Root is the request's span, the zero Node if it was not read.
	Root trace.Node

	forest *trace.Forest
	ops    []int32
	shared []sharedPart
	below  []*Execution // executions below the request, linked or not
	worked int64        // the end of the last operation, 0 if unknown
}

// Ops returns the number of operations of the request.
func (r *Request) Ops() int { return len(r.ops) }

// Operations yields the operations of the request in input order.
func (r *Request) Operations() iter.Seq[trace.Node] { return r.forest.NodesOf(r.ops) }

// Requests are the requests of a [trace.Forest].
type Requests struct {
	// List has the requests by start, requests without a start last, equal ones in input order.
	List []Request
	// Shared has the shared executions in input order.
	Shared []Execution
	// MissingLinks counts the links to unread spans.
	MissingLinks int64

	forest     *trace.Forest
	unattached []int32
	walks      *path.Walks  // nil until needed
	causes     *causeFinder // likewise
	queue      *queueFinder // likewise
}

// Unattached yields the operations without a request, in input order.
func (r *Requests) Unattached() iter.Seq[trace.Node] { return r.forest.NodesOf(r.unattached) }

// Find returns the local roots, except operations, and the operations of each.
//
// A span is a local root if its parent was not read or is in another process, or if an operation names it as its root.
// An operation belongs to the nearest local root above it. If its topmost ancestor is an operation, the root named by
// this ancestor decides. An unread named root is a request without times. Duplicates are left out.
//
//	POST /predict   [0,100)    2 ops, uncovered 100 − 70 = 30, queueing 10
//	  matmul          [10,50)
//	  softmax         [40,80)
//
// A span with links to spans of other requests is a shared execution, with everything below it. It is no request, and
// its operations belong to no request. Their time is divided among the distinct linked requests, by the weights of the
// links if all have one, else equally. Links to executions count for their requests.
//
//	POST /a   [0,100)              own 0, shared 20
//	POST /b   [5,90)               own 0, shared 20
//	step      [10,60) links to both
//	  matmul    [10,50)
func Find(f *trace.Forest) *Requests {
	f.Build()
	owner := f.RequestOwners()
	all := &Requests{forest: f, MissingLinks: f.Counts.MissingLinks}
	work := shareWork(f, owner)
	all.Shared = work.list
	ops, first := order.Group(f.Rows(), f.Len()+len(f.Names.Stamps.Values), nil, func(r int32) int32 {
		if !f.Has(r, trace.FlagOp) || f.ExecutionOf(r, owner) != trace.NoExecution {
			return trace.NoRow
		}
		return owner[r]
	})
	ended := false
	add := func(number int32, q Request) {
		if ended = ended || f.Ended(); ended {
			return
		}
		q.forest = f
		q.ops = ops[first[number]:first[number+1]:first[number+1]]
		q.shared = work.parts[number]
		q.below = work.below[number]
		var sum wide.Sum
		for _, p := range q.shared {
			sum.Add(p.ns)
			q.SharedOps += p.execution.Ops()
		}
		q.OwnNS = sumDeviceSide(f, q.ops)
		q.SharedNS = sum.Int64()
		all.List = append(all.List, q)
		all.List[len(all.List)-1].addTimes()
	}
	for r := range int32(f.Len()) {
		if owner[r] == r && !f.Has(r, trace.FlagOp) && f.ExecutionOf(r, owner) == trace.NoExecution {
			n := f.Node(r)
			add(r, Request{
				Name: n.Name(), Service: n.Service(), TraceID: n.TraceID(), SpanID: n.SpanID(),
				StartNS: n.Start(), DurationNS: op.Known(n.Duration()), Root: n,
			})
		}
	}
	for i, stamp := range f.Names.Stamps.Values { // requests without a span
		if number := int32(f.Len() + i); first[number] < first[number+1] || len(work.parts[number]) > 0 {
			add(number, Request{
				Name: stamp.Name, TraceID: f.Names.Traces.Values[stamp.Trace], SpanID: trace.SpanID(stamp.Span),
			})
		}
	}
	for r := range int32(f.Len()) {
		isAttached := owner[r] != trace.NoRow || f.ExecutionOf(r, owner) != trace.NoExecution
		if f.Has(r, trace.FlagOp) && !isAttached && !f.Has(r, trace.FlagDuplicate) {
			all.unattached = append(all.unattached, r)
		}
	}
	slices.SortStableFunc(all.List, func(a, b Request) int {
		return cmp.Or(order.Flags(b.StartNS.Known, a.StartNS.Known), cmp.Compare(a.StartNS.V, b.StartNS.V))
	})
	return all
}

func (r *Request) addTimes() {
	if !r.StartNS.Known {
		return
	}
	f := r.forest
	covered := timeline.NewCoverage(f.Start(r.Root.Row), f.End(r.Root.Row))
	for _, o := range r.byEnd() {
		if !f.Has(o, trace.FlagStart) {
			break // operations without a start come last
		}
		if r.worked == 0 {
			r.worked = f.End(o)
		}
		covered.Add(f.Start(o), f.End(o))
		queueing := min(max(0, f.Start(o)-r.StartNS.V), r.DurationNS.V)
		if !r.QueueingNS.Known || queueing < r.QueueingNS.V {
			r.QueueingNS = op.Known(queueing)
		}
	}
	r.UncoveredNS = op.Known(r.DurationNS.V - covered.Covered)
}

// byEnd returns the operations below the request and of its executions, including executions within, the last to end
// first. It sorts the whole only if executions overlap.
func (r *Request) byEnd() []int32 {
	own := slices.Clone(r.ops)
	r.forest.SortByEnd(own)
	lists := [][]int32{own}
	pending := slices.Clone(r.below)
	for _, p := range r.shared {
		pending = append(pending, p.execution)
	}
	seen := make(map[*Execution]bool)
	for len(pending) > 0 {
		e := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if seen[e] {
			continue
		}
		seen[e] = true
		if e.byEnd == nil {
			e.byEnd = slices.Clone(e.ops)
			r.forest.SortByEnd(e.byEnd)
		}
		lists = append(lists, e.byEnd)
		pending = append(pending, e.within...)
	}
	lists = slices.DeleteFunc(lists, func(rows []int32) bool { return len(rows) == 0 })
	slices.SortFunc(lists, func(a, b []int32) int { return r.forest.CompareEnd(a[0], b[0]) })
	rows := slices.Concat(lists...)
	if len(lists) > 1 && !slices.IsSortedFunc(rows, r.forest.CompareEnd) {
		r.forest.SortByEnd(rows)
	}
	return rows
}

// Path sums up the critical path of a request of r, nil for a request without a start.
func (r *Requests) Path(q *Request) *path.Sum {
	if !q.StartNS.Known {
		return nil
	}
	if r.walks == nil {
		r.walks = path.NewWalks(r.forest)
	}
	sum := path.NewSum(r.forest)
	r.walks.AddPath(sum, q.window(), nil)
	return sum
}

func (r *Request) window() path.Window {
	return path.Window{Row: r.Root.Row, From: r.StartNS.V, To: r.StartNS.V + r.DurationNS.V}
}
