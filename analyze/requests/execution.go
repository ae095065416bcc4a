package requests

import (
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/apportion"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Execution is a span that works for requests which it does not lie below, such as
// the step of an engine that runs several requests as one batch. It says so by links
// to spans of the requests.
type Execution struct {
	Name, Service string
	TraceID       op.TraceID
	SpanID        op.SpanID
	StartNS       op.Int
	DurationNS    int64
	// Links is how many links the span has, Requests to how many distinct requests
	// they lead.
	Links    int
	Requests int
	// DroppedLinks is how many further links the limits of the recorder dropped.
	DroppedLinks int64
	// SumNS is the sum of the durations of its operations, without the host's view of device work. It is divided among the
	// requests; UnlinkedNS is the part of those that the dropped links lead to.
	SumNS, UnlinkedNS int64
	// DividedBy says by which laws: those that some of SumNS was divided by.
	DividedBy []Division
	// Root is the span.
	Root trace.Node

	forest *trace.Forest
	ops    []int32
	byEnd  []int32      // ops, the last to end first; nil until needed
	within []*Execution // the executions directly below, but for those that are deep
}

// Division is a part of the time of an execution and the law by which it is divided among the requests.
type Division struct {
	Law    string `json:"law"`
	TimeNS int64  `json:"ns"`
}

// The laws.
const (
	// LawAttention divides attention by tensor.link.weight.attention, where every link has one.
	LawAttention = "attention"
	// LawWeight divides everything else, and attention too without such weights, by tensor.link.weight.
	LawWeight = "weight"
	// LawEqual is without weights: the requests have equal parts.
	LawEqual = "equal"
)

// Ops returns the number of operations at and below the span, without those of
// executions that lie within.
func (e *Execution) Ops() int { return len(e.ops) }

// Operations returns these operations in the order of the input.
func (e *Execution) Operations() iter.Seq[trace.Node] { return e.forest.NodesOf(e.ops) }

// Executions returns the shared executions that work for the request, with its part
// of their time in nanoseconds.
func (r *Request) Executions() iter.Seq2[*Execution, int64] {
	return func(yield func(*Execution, int64) bool) {
		for _, p := range r.shared {
			if !yield(p.execution, p.ns) {
				return
			}
		}
	}
}

// sharedPart is the part that a request has in an execution.
type sharedPart struct {
	execution *Execution
	ns        int64
}

// sharedWork is the shared executions and what they have to do with the requests,
// which go by their numbers as requestOwners has them.
type sharedWork struct {
	// list is in the order of the input.
	list []Execution
	// parts has the parts of each request, below the executions that lie directly
	// below one, linked to it or not.
	parts map[int32][]sharedPart
	below map[int32][]*Execution
}

// shareWork returns the shared executions, given what requestOwners returns.
func shareWork(f *trace.Forest, owner []int32) *sharedWork {
	if f.Executions.Of == nil {
		return &sharedWork{list: []Execution{}}
	}
	ops, first := order.Group(f.Rows(), len(f.Executions.List), nil, func(r int32) int32 {
		if !f.Has(r, trace.FlagOp) || f.Has(r, trace.FlagDuplicate) {
			return trace.NoRow
		}
		return f.ExecutionOf(r, owner)
	})
	work := &sharedWork{
		list: make([]Execution, len(f.Executions.List)), parts: make(map[int32][]sharedPart), below: make(map[int32][]*Execution),
	}
	isAttention := make(map[int32]bool) // by name
	for i := range f.Executions.List {
		e, row, ops := &work.list[i], &f.Executions.List[i], ops[first[i]:first[i+1]:first[i+1]]
		n := f.Node(row.Row)
		*e = Execution{
			Name: n.Name(), Service: n.Service(), TraceID: n.TraceID(), SpanID: n.SpanID(),
			StartNS: n.Start(), DurationNS: n.Duration(), Links: row.Links, Requests: len(row.Requests),
			DroppedLinks: f.Unlinked(row.Row), SumNS: sumDeviceSide(f, ops), Root: n, forest: f, ops: ops,
		}
		if n.IsOp() {
			e.Service = f.Service(row.Row)
		}
		for k, ns := range e.divide(row, isAttention) {
			work.parts[row.Requests[k]] = append(work.parts[row.Requests[k]], sharedPart{execution: e, ns: ns})
		}
	}
	for i := range work.list {
		e, parent := &work.list[i], f.Tree.Parent[f.Executions.List[i].Row]
		if parent == trace.NoRow {
			continue
		}
		if around := f.Executions.Of[parent]; around != trace.NoExecution {
			if f.IsDeep(int32(i)) {
				continue
			}
			work.list[around].within = append(work.list[around].within, e)
		} else if owner[parent] != trace.NoRow {
			work.below[owner[parent]] = append(work.below[owner[parent]], e)
		}
	}
	return work
}

// sumDeviceSide returns the sum of the durations of operations, without those that
// are the host's view of device work.
func sumDeviceSide(f *trace.Forest, ops []int32) int64 {
	var sum wide.Sum
	for _, r := range ops {
		if f.IsDeviceSide(r) {
			sum.Add(f.Duration(r))
		}
	}
	return sum.Int64()
}

// divide divides the time of an execution among its requests, each operation by its law. isAttention tells of names
// that were looked up.
func (e *Execution) divide(row *trace.Execution, isAttention map[int32]bool) []int64 {
	rest, law := e.SumNS, LawEqual
	if hasWeights(row.Weights) {
		law = LawWeight
	}
	parts := make([]int64, len(row.Requests))
	add := func(ns int64, weights []int64, law string) {
		if ns == 0 {
			return
		}
		some, unlinked := divide(ns, weights, row, e.DroppedLinks)
		for i, ns := range some {
			parts[i] += ns
		}
		e.UnlinkedNS += unlinked
		e.DividedBy = append(e.DividedBy, Division{law, ns})
	}
	if hasWeights(row.Attention) {
		ns := sumDeviceSide(e.forest, slices.DeleteFunc(slices.Clone(e.ops), func(r int32) bool {
			name := e.forest.Name(r)
			is, known := isAttention[name]
			if !known {
				is = flops.IsAttention(e.forest.Node(r).Name())
				isAttention[name] = is
			}
			return !is
		}))
		add(ns, row.Attention, LawAttention)
		rest -= ns
	}
	add(rest, row.Weights, law)
	return parts
}

func hasWeights(weights []int64) bool {
	return slices.ContainsFunc(weights, func(w int64) bool { return w > 0 })
}

// divide divides total among the requests of e in proportion to weights, in equal parts where there are none or all are
// 0. A link that was dropped counts as one to a further request, with the mean weight of the others; unlinked is the part
// of all of these. The parts are whole numbers that add up with it to total, as [apportion.By] rounds them.
//
//	100 by 1, 1, 1                34, 33, 33
//	100 by 1, 2, 4                14, 29, 57
//	100 by 1, 1 and two dropped   25, 25 and 50 unlinked
func divide(total int64, weights []int64, e *trace.Execution, dropped int64) (parts []int64, unlinked int64) {
	n := len(e.Requests)
	weights, sum := weigh(weights, e, dropped)
	parts = apportion.By(total, weights, sum)
	if len(parts) > n {
		unlinked = parts[n]
	}
	return parts[:n], unlinked
}

// weigh returns the weights of the requests of e and, where links were dropped, behind them that of the dropped ones.
func weigh(given []int64, e *trace.Execution, dropped int64) (weights []int64, sum uint64) {
	carry := uint64(0)
	for _, w := range given {
		if sum, carry = bits.Add64(sum, uint64(w), 0); carry != 0 {
			break // no measure of any engine
		}
	}
	hi, lo := bits.Mul64(sum, uint64(dropped))
	if links := uint64(e.Led); sum == 0 || carry != 0 || hi >= links || sum > math.MaxInt64 {
		weights, sum, lo = slices.Repeat([]int64{1}, len(e.Requests)), uint64(len(e.Requests)), uint64(dropped)
	} else {
		weights = slices.Clone(given)
		lo, _ = bits.Div64(hi, lo, links)
	}
	if dropped > 0 && lo <= math.MaxInt64 {
		weights, sum = append(weights, int64(lo)), sum+lo
	}
	return weights, sum
}
