package timeline

import (
	"iter"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// OperationKey identifies a row of the operations table: the same operation on
// the host and on a device has two rows.
type OperationKey struct {
	Operation string
	Side      op.Side
}

// selfTimes returns each operation with its self time in nanoseconds, in the
// order of the input: its duration without the time that the operations below
// it cover.
//
//	relu    [0,100)                                       self 100 − 60 = 40
//	  matmul   [10,50)     a child
//	  softmax  [40,70)     overlaps it: covered [10,70)   self 40 and 30
//
// Children are clipped to their parent, which they may outlive, and overlap is
// counted once, so that self time is never negative. Spans that are no
// operations are looked through: the operations below them count as children of
// the operation above. An operation without a start covers nothing, and its own
// self time is its duration. So is that of a duplicate, which has no place in
// the tree; repeats are left out.
func selfTimes(f *trace.Forest) iter.Seq2[trace.Node, int64] {
	f.Build()
	return func(yield func(trace.Node, int64) bool) {
		var below Descent
		for r := range int32(f.Len()) {
			if !f.CountsInSums(r) {
				continue
			}
			if !yield(f.Node(r), SelfTime(f, r, &below)) {
				return
			}
		}
	}
}

// OperationSelfTimes returns the sum of the self times of each operation and
// side, in nanoseconds.
func OperationSelfTimes(f *trace.Forest) map[OperationKey]int64 {
	f.Build()
	times := make(map[OperationKey]int64)
	for side, sums := range sumsBy(f, len(f.Names.Operations.Values), f.Name) {
		for name := range sums {
			if sums[name].seen {
				times[OperationKey{f.Names.Operations.Values[name], op.Side(side)}] = sums[name].Int64()
			}
		}
	}
	return times
}

// selfSum is a sum of self times, if there are any.
type selfSum struct {
	wide.Sum
	seen bool
}

// sumsBy sums up the self times by side and the number, of so many, that of returns for each row.
func sumsBy(f *trace.Forest, numbers int, of func(r int32) int32) (sums [2][]selfSum) {
	sums = [2][]selfSum{make([]selfSum, numbers), make([]selfSum, numbers)}
	for n, self := range selfTimes(f) {
		sum := &sums[n.Side()][of(n.Row)]
		sum.Add(self)
		sum.seen = true
	}
	return sums
}

// SelfTime returns the self time of row r.
func SelfTime(f *trace.Forest, r int32, below *Descent) int64 {
	return selfTimeOf(f, r, f.Start(r), f.Duration(r), below)
}

// selfTimeOf returns the self time of row r, given its times.
func selfTimeOf(f *trace.Forest, r int32, start, duration int64, below *Descent) int64 {
	if !f.Has(r, trace.FlagStart) || f.Has(r, trace.FlagDuplicate) || len(f.Tree.Children(r)) == 0 {
		return duration
	}
	c := NewCoverage(start, start+duration)
	for _, child := range OpsBelow(f, r, below) {
		if !f.Has(child, trace.FlagStart) {
			break // those come last
		}
		c.Add(f.Start(child), f.End(child))
	}
	return duration - c.Covered
}

// Descent is the memory that walking down the tree uses again and again.
type Descent struct {
	found, Pending []int32
}

// OpsBelow returns the nearest operations below r, looking through other
// spans, the last to end first. The result is valid until the next call.
func OpsBelow(f *trace.Forest, r int32, d *Descent) []int32 {
	children := f.Tree.Children(r)
	if !anySpan(f, children) {
		return children // sorted already
	}
	d.found, d.Pending = d.found[:0], append(d.Pending[:0], children...)
	for len(d.Pending) > 0 {
		last := len(d.Pending) - 1
		child := d.Pending[last]
		d.Pending = d.Pending[:last]
		if f.Has(child, trace.FlagOp) {
			d.found = append(d.found, child)
		} else {
			d.Pending = append(d.Pending, f.Tree.Children(child)...)
		}
	}
	f.SortByEnd(d.found)
	return d.found
}

// anySpan reports whether one of rows is no operation.
func anySpan(f *trace.Forest, rows []int32) bool {
	for _, r := range rows {
		if !f.Has(r, trace.FlagOp) {
			return true
		}
	}
	return false
}

// Coverage measures how much of [from, low) a set of intervals covers, each
// moment once. Add the intervals in order of descending end; their order stays
// right when they are clipped, which is why the tree lists children like that.
//
//	window [0,100)   add [60,120)  [50,70)  [10,20)   covered 40+10+10 = 60
type Coverage struct {
	from    int64
	low     int64 // everything above is counted
	Covered int64
}

// NewCoverage returns the coverage of [from, to) by nothing.
func NewCoverage(from, to int64) Coverage { return Coverage{from: from, low: to} }

// Add adds the interval [start, end).
func (c *Coverage) Add(start, end int64) {
	start, end = max(start, c.from), min(end, c.low)
	if start < end {
		c.Covered += end - start
		c.low = start
	}
}

// SelfTimeNS returns the duration of an operation without the time that the
// operations below it cover, in nanoseconds; 0 for another span and for a repeat
// of an operation.
func SelfTimeNS(n trace.Node) int64 {
	if n.IsZero() || !n.Forest.CountsInSums(n.Row) {
		return 0
	}
	var below Descent
	return SelfTime(n.Forest, n.Row, &below)
}

// GroupID identifies a group by its values and side.
type GroupID struct{ Values, Side string }

// GroupOf returns the identity of the group with the values and a side.
func GroupOf(values []key.Value, side string) GroupID {
	return GroupID{string(key.AppendDistinct(nil, values)), side}
}

// GroupSelfTimes sums up the self times by group.
func GroupSelfTimes(f *trace.Forest) map[GroupID]*wide.Sum {
	all := make(map[GroupID]*wide.Sum)
	for side, sums := range sumsBy(f, len(f.Names.Groups.Values), f.Group) {
		for group := range sums {
			if sum := &sums[group].Sum; *sum != (wide.Sum{}) {
				values := key.Cut(f.Names.Groups.Values[group], f.By)
				all[GroupOf(values, op.Side(side).String())] = sum
			}
		}
	}
	return all
}
