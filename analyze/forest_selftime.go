package analyze

import (
	"iter"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// operationKey identifies a row of the operations table: the same operation on
// the host and on a device has two rows.
type operationKey struct {
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
func (f *Forest) selfTimes() iter.Seq2[Node, int64] {
	f.build()
	return func(yield func(Node, int64) bool) {
		var below descent
		for r := range int32(f.Len()) {
			if !f.countsInSums(r) {
				continue
			}
			if !yield(f.node(r), f.selfTime(r, &below)) {
				return
			}
		}
	}
}

// operationSelfTimes returns the sum of the self times of each operation and
// side, in nanoseconds.
func (f *Forest) operationSelfTimes() map[operationKey]int64 {
	f.build()
	type sum struct {
		wide.Sum
		seen bool
	}
	sums := [2][]sum{
		make([]sum, len(f.dict.operations.Values)),
		make([]sum, len(f.dict.operations.Values)),
	}
	for n, self := range f.selfTimes() {
		sum := &sums[n.Side()][f.name(n.row)]
		sum.Add(self)
		sum.seen = true
	}
	times := make(map[operationKey]int64)
	for side := range sums {
		for name := range sums[side] {
			if sum := &sums[side][name]; sum.seen {
				times[operationKey{f.dict.operations.Values[name], op.Side(side)}] = sum.Int64()
			}
		}
	}
	return times
}

// selfTime returns the self time of row r.
func (f *Forest) selfTime(r int32, below *descent) int64 {
	return f.selfTimeOf(r, f.start(r), f.duration(r), below)
}

// selfTimeOf returns the self time of row r, given its times.
func (f *Forest) selfTimeOf(r int32, start, duration int64, below *descent) int64 {
	if !f.has(r, flagStart) || f.has(r, flagDuplicate) || len(f.tree.children(r)) == 0 {
		return duration
	}
	c := newCoverage(start, start+duration)
	for _, child := range f.opsBelow(r, below) {
		if !f.has(child, flagStart) {
			break // those come last
		}
		c.add(f.start(child), f.end(child))
	}
	return duration - c.covered
}

// descent is the memory that walking down the tree uses again and again.
type descent struct {
	found, pending []int32
	sorter         order.Rows
}

// opsBelow returns the nearest operations below r, looking through other
// spans, the last to end first. The result is valid until the next call.
func (f *Forest) opsBelow(r int32, d *descent) []int32 {
	children := f.tree.children(r)
	if !f.anySpan(children) {
		return children // sorted already
	}
	d.found, d.pending = d.found[:0], append(d.pending[:0], children...)
	for len(d.pending) > 0 {
		last := len(d.pending) - 1
		child := d.pending[last]
		d.pending = d.pending[:last]
		if f.has(child, flagOp) {
			d.found = append(d.found, child)
		} else {
			d.pending = append(d.pending, f.tree.children(child)...)
		}
	}
	f.sortByEnd(d.found, &d.sorter)
	return d.found
}

// anySpan reports whether one of rows is no operation.
func (f *Forest) anySpan(rows []int32) bool {
	for _, r := range rows {
		if !f.has(r, flagOp) {
			return true
		}
	}
	return false
}

// coverage measures how much of [from, low) a set of intervals covers, each
// moment once. Add the intervals in order of descending end; their order stays
// right when they are clipped, which is why the tree lists children like that.
//
//	window [0,100)   add [60,120)  [50,70)  [10,20)   covered 40+10+10 = 60
type coverage struct {
	from    int64
	low     int64 // everything above is counted
	covered int64
}

func newCoverage(from, to int64) coverage { return coverage{from: from, low: to} }

// add adds the interval [start, end).
func (c *coverage) add(start, end int64) {
	start, end = max(start, c.from), min(end, c.low)
	if start < end {
		c.covered += end - start
		c.low = start
	}
}

// SelfTimeNS returns the duration of an operation without the time that the
// operations below it cover, in nanoseconds; 0 for another span and for a repeat
// of an operation.
func (n Node) SelfTimeNS() int64 {
	if n.IsZero() || !n.forest.countsInSums(n.row) {
		return 0
	}
	var below descent
	return n.forest.selfTime(n.row, &below)
}

// groupID identifies a group by its values and side.
type groupID struct{ values, side string }

// groupSelfTimes sums up the self times by group.
func (f *Forest) groupSelfTimes() map[groupID]*wide.Sum {
	bySide := [2][]wide.Sum{
		make([]wide.Sum, len(f.dict.groups.Values)),
		make([]wide.Sum, len(f.dict.groups.Values)),
	}
	for n, self := range f.selfTimes() {
		bySide[sideIndex(n.Side())][f.group(n.row)].Add(self)
	}
	sums := make(map[groupID]*wide.Sum)
	for side := range bySide {
		for group := range bySide[side] {
			sum := &bySide[side][group]
			if *sum == (wide.Sum{}) {
				continue
			}
			values := cutKeys(f.dict.groups.Values[group], f.by)
			sums[groupID{string(appendValues(nil, values)), op.Side(side).String()}] = sum
		}
	}
	return sums
}
