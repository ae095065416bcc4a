package analyze

import (
	"iter"

	"github.com/optrace/optrace/op"
)

// OperationKey is what the operations table has a row for: the same operation
// on the host and on a device is two rows.
type OperationKey struct {
	Operation string
	Side      op.Side
}

// SelfTimes returns each operation with its self time in nanoseconds, in the
// order of the input: its duration without the time that the operations below
// it cover.
//
//	relu    [0,100)                                       self 100 − 60 = 40
//	  matmul   [10,50)     a child
//	  softmax  [40,70)     overlaps it: covered [10,70)   self 40 and 30
//
// Children are clipped to their parent, which they may outlive, and overlap is
// counted once, so that self time is never negative. Spans that are no
// operations are looked through: what is below them counts as a child of the
// operation above. An operation without a start covers nothing, and its own
// self time is its duration. Duplicates are not in the tree and are left out.
func (t *Trace) SelfTimes() iter.Seq2[Node, int64] {
	t.Build()
	return func(yield func(Node, int64) bool) {
		var below descent
		for r := range int32(t.rows()) {
			if !t.has(r, flagOp) || t.has(r, flagDuplicate) {
				continue
			}
			if !yield(Node{t, r}, t.selfTime(r, &below)) {
				return
			}
		}
	}
}

// OperationSelfTimes returns the sum of the self times of each operation and
// side, in nanoseconds.
func (t *Trace) OperationSelfTimes() map[OperationKey]int64 {
	t.Build()
	sums := [2][]wide{
		make([]wide, len(t.dict.operations.values)),
		make([]wide, len(t.dict.operations.values)),
	}
	times := make(map[OperationKey]int64)
	for n, self := range t.SelfTimes() {
		side, name := n.Side(), t.name(n.row)
		sums[side][name].add(self)
		times[OperationKey{t.dict.operations.values[name], side}] = 0
	}
	for side := range sums {
		for name := range sums[side] {
			key := OperationKey{t.dict.operations.values[name], op.Side(side)}
			if _, ok := times[key]; ok {
				times[key] = sums[side][name].int64()
			}
		}
	}
	return times
}

func (t *Trace) selfTime(r int32, below *descent) int64 {
	if !t.has(r, flagStart) {
		return t.duration(r)
	}
	c := newCoverage(t.start(r), t.end(r))
	for _, child := range t.opsBelow(r, below) {
		if !t.has(child, flagStart) {
			break // those come last
		}
		c.add(t.start(child), t.end(child))
	}
	return t.duration(r) - c.covered
}

// descent is the memory that walking down the tree uses again and again.
type descent struct {
	found, pending []int32
}

// opsBelow returns the nearest operations below r, looking through other
// spans, the last to end first. The result is valid until the next call.
func (t *Trace) opsBelow(r int32, d *descent) []int32 {
	children := t.tree.children(r)
	if !t.anySpan(children) {
		return children // sorted already
	}
	d.found, d.pending = d.found[:0], append(d.pending[:0], children...)
	for len(d.pending) > 0 {
		last := len(d.pending) - 1
		child := d.pending[last]
		d.pending = d.pending[:last]
		if t.has(child, flagOp) {
			d.found = append(d.found, child)
		} else {
			d.pending = append(d.pending, t.tree.children(child)...)
		}
	}
	t.sortByEnd(d.found)
	return d.found
}

// anySpan reports whether one of rows is no operation.
func (t *Trace) anySpan(rows []int32) bool {
	for _, r := range rows {
		if !t.has(r, flagOp) {
			return true
		}
	}
	return false
}
