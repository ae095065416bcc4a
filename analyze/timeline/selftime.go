package timeline

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// RowID identifies a row of operations or groups. Host and device have separate rows.
type RowID struct {
	Name string // the operation, or a [GroupName]
	Side op.Side
}

// OperationSelfTimes returns the sum of self times by operation and side, in nanoseconds.
func OperationSelfTimes(f *trace.Forest) map[RowID]int64 {
	names := f.Names.Operations.Values
	return sumsBy(f, len(names), f.Name, func(name int) string { return names[name] })
}

// GroupSelfTimes returns the sum of self times by group and side, in nanoseconds.
func GroupSelfTimes(f *trace.Forest) map[RowID]int64 {
	groups := f.Names.Groups.Values
	return sumsBy(f, len(groups), f.Group, func(group int) string {
		return GroupName(key.Decode(groups[group], f.By))
	})
}

// GroupName returns an identifier of the group with the given values.
func GroupName(values []key.Value) string { return string(key.AppendDistinct(nil, values)) }

// sumsBy sums up self times by side and by the number of(r). Repeats are ignored.
func sumsBy(f *trace.Forest, numbers int, of func(r int32) int32, name func(number int) string) map[RowID]int64 {
	type selfSum struct {
		wide.Sum
		seen bool
	}
	f.Build()
	sums := [2][]selfSum{make([]selfSum, numbers), make([]selfSum, numbers)}
	var below Descent
	for r := range f.Rows() {
		if f.CountsInSums(r) {
			sum := &sums[f.Node(r).Side()][of(r)]
			sum.Add(SelfTime(f, r, &below))
			sum.seen = true
		}
	}
	times := make(map[RowID]int64)
	for side := range sums {
		for number, sum := range sums[side] {
			if sum.seen {
				times[RowID{name(number), op.Side(side)}] = sum.Int64()
			}
		}
	}
	return times
}

// SelfTime returns the self time of the operation in row r in nanoseconds: its duration minus the time covered by
// operations below it.
//
//	relu    [0,100)                                       self 100 − 60 = 40
//	  matmul   [10,50)     a child
//	  softmax  [40,70)     overlaps it: covered [10,70)   self 40 and 30
//
// Children are clipped to their parent and overlap counts once, so the self time is never negative. Spans are
// transparent: operations below a span count as children of the operation above it. An operation without a start covers
// no time, and its own self time is its duration. The same holds for duplicates, which are not in the tree.
func SelfTime(f *trace.Forest, r int32, below *Descent) int64 {
	start := f.Start(r)
	duration := f.Duration(r)
	if !f.Has(r, trace.FlagStart) || f.Has(r, trace.FlagDuplicate) || len(f.Tree.Children(r)) == 0 {
		return duration
	}
	c := NewCoverage(start, start+duration)
	for _, child := range OpsBelow(f, r, below) {
		if !f.Has(child, trace.FlagStart) {
			break // rows without a start come last
		}
		c.Add(f.Start(child), f.End(child))
	}
	return duration - c.Covered
}

// Descent is reusable memory for walking down the tree.
type Descent struct {
	found, Pending []int32
}

// OpsBelow returns the nearest operations below r, looking through spans, last to end first. The result is valid until
// the next call with d.
func OpsBelow(f *trace.Forest, r int32, d *Descent) []int32 {
	children := f.Tree.Children(r)
	if !slices.ContainsFunc(children, func(r int32) bool { return !f.Has(r, trace.FlagOp) }) {
		return children // sorted already
	}
	d.found = d.found[:0]
	d.Pending = append(d.Pending[:0], children...)
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

// Coverage measures the part of [from, to) covered by intervals, counting overlap once. Add intervals by descending
// end, as the tree lists children. Clipping preserves that order.
//
//	window [0,100)   add [60,120)  [50,70)  [10,20)   covered 40+10+10 = 60
type Coverage struct {
	from    int64
	low     int64 // the time from here on is counted
	Covered int64
}

// NewCoverage returns an empty coverage of [from, to).
func NewCoverage(from, to int64) Coverage { return Coverage{from: from, low: to} }

// Add adds the interval [start, end).
func (c *Coverage) Add(start, end int64) {
	start, end = max(start, c.from), min(end, c.low)
	if start < end {
		c.Covered += end - start
		c.low = start
	}
}

// SelfTimeNS returns the self time of n in nanoseconds, see [SelfTime]; 0 for spans and repeats.
func SelfTimeNS(n trace.Node) int64 {
	if n.IsZero() || !n.Forest.CountsInSums(n.Row) {
		return 0
	}
	var below Descent
	return SelfTime(n.Forest, n.Row, &below)
}
