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

// Execution is a span linked to the requests it works for, such as the step of an engine for a batch.
type Execution struct {
	Name, Service string
	TraceID       op.TraceID
	SpanID        op.SpanID
	StartNS       op.Int
	DurationNS    int64
	// Links is the number of links of the span, Requests the number of distinct linked requests.
	Links    int
	Requests int
	// DroppedLinks counts further links dropped by the limits of the recorder.
	DroppedLinks int64
	// SumNS is the sum of the durations of its operations, without the host's view of device work. It is divided among
	// the requests. UnlinkedNS is the part of the dropped links.
	SumNS, UnlinkedNS int64
	// DividedBy lists the laws applied to parts of SumNS.
	DividedBy []Division
	// Root is the span.
	Root trace.Node

	forest *trace.Forest
	ops    []int32
	byEnd  []int32      // ops, the last to end first; nil until needed
	within []*Execution // the executions directly below, without deep ones
}

// Division is a part of an execution's time and the law of its division among the requests.
type Division struct {
	Law    string `json:"law"`
	TimeNS int64  `json:"ns"`
}

// The laws of division.
const (
	// LawAttention divides attention by tensor.link.weight.attention, if every link has one.
	LawAttention = "attention"
	// LawWeight divides the rest, and attention without weights of its own, by tensor.link.weight.
	LawWeight = "weight"
	// LawEqual gives all requests equal parts, if weights are missing.
	LawEqual = "equal"
)

// Ops returns the number of operations at and below the span, without the operations of executions within.
func (e *Execution) Ops() int { return len(e.ops) }

// Operations yields these operations in input order.
func (e *Execution) Operations() iter.Seq[trace.Node] { return e.forest.NodesOf(e.ops) }

// Executions yields the shared executions of the request, with its part of their time in nanoseconds.
func (r *Request) Executions() iter.Seq2[*Execution, int64] {
	return func(yield func(*Execution, int64) bool) {
		for _, p := range r.shared {
			if !yield(p.execution, p.ns) {
				return
			}
		}
	}
}

type sharedPart struct {
	execution *Execution
	ns        int64
}

// sharedWork has the shared executions and their relations to requests. Requests are numbered as in RequestOwners.
type sharedWork struct {
	list []Execution // in input order
	// parts has the parts of each request, below the executions directly below one, linked or not.
	parts map[int32][]sharedPart
	below map[int32][]*Execution
}

// shareWork returns the shared executions. owner is the result of RequestOwners.
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
		list: make([]Execution, len(f.Executions.List)), parts: make(map[int32][]sharedPart),
		below: make(map[int32][]*Execution),
	}
	isAttention := make(map[int32]bool) // by name
	for i := range f.Executions.List {
		e := &work.list[i]
		row := &f.Executions.List[i]
		ops := ops[first[i]:first[i+1]:first[i+1]]
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
		e := &work.list[i]
		parent := f.Tree.Parent[f.Executions.List[i].Row]
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

// sumDeviceSide sums up the durations of operations, without the host's view of device work.
func sumDeviceSide(f *trace.Forest, ops []int32) int64 {
	var sum wide.Sum
	for _, r := range ops {
		if f.IsDeviceSide(r) {
			sum.Add(f.Duration(r))
		}
	}
	return sum.Int64()
}

// divide divides an execution's time among its requests, each operation by its law. isAttention is a cache by name.
func (e *Execution) divide(row *trace.Execution, isAttention map[int32]bool) []int64 {
	law := LawEqual
	rest := e.SumNS
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

// divide divides total among the requests of e in proportion to weights, equally if all weights are 0 or missing. A
// dropped link counts as a link to a further request with the mean weight of the others, and unlinked is the part of
// all dropped links. The whole parts and unlinked add up to total, see [apportion.By].
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

// weigh returns the weights of the requests of e, followed by the weight of the dropped links, if any.
func weigh(given []int64, e *trace.Execution, dropped int64) (weights []int64, sum uint64) {
	carry := uint64(0)
	for _, w := range given {
		if sum, carry = bits.Add64(sum, uint64(w), 0); carry != 0 {
			break // an absurd sum
		}
	}
	hi, lo := bits.Mul64(sum, uint64(dropped))
	if links := uint64(e.Led); sum == 0 || carry != 0 || hi >= links || sum > math.MaxInt64 {
		weights = slices.Repeat([]int64{1}, len(e.Requests))
		sum = uint64(len(e.Requests))
		lo = uint64(dropped)
	} else {
		weights = slices.Clone(given)
		lo, _ = bits.Div64(hi, lo, links)
	}
	if dropped > 0 && lo <= math.MaxInt64 {
		weights = append(weights, int64(lo))
		sum += lo
	}
	return weights, sum
}
