package analyze

import (
	"encoding/binary"
	"slices"

	"github.com/optrace/optrace/op"
)

// rowFlag is a set of facts about a row.
type rowFlag uint8

const (
	flagOp        rowFlag = 1 << iota // an operation; otherwise a non-op span
	flagStart                         // the start is known
	flagHost                          // the host's view: op.SideHost
	flagStep                          // the step is known
	flagLaunch                        // the launch time is known
	flagRemote                        // the parent lies in another process
	flagDuplicate                     // set by Build: its ids were seen before
	flagOrphan                        // set by Build: its parent was not read

	builtFlags = flagDuplicate | flagOrphan
)

// maxTime bounds starts and ends on both sides of 1970, so that the distance
// of two of them fits an int64: the years 1824 to 2116.
const maxTime = 1<<62 - 1

// maxRows bounds the rows, so that an int32 numbers them and as many stamps.
const maxRows = 1 << 30

// columns holds a row per operation and span: 46 bytes each, and what the
// optional columns add once some row has a value for them.
type columns struct {
	start    []int64 // Unix ns; 0 without flagStart
	duration []int64 // ns
	span     []uint64
	parentID []uint64
	trace    []int32 // into dictionary.traces
	name     []int32 // into dictionary.operations, for spans dictionary.spans
	lane     []int32 // into dictionary.lanes
	kind     []op.Kind
	flags    []rowFlag

	step   optional[int64]
	memory optional[int64] // bytes
	launch optional[int64] // Unix ns
	stamp  optional[int32] // into dictionary.stamps
}

// row is one row of columns, all fields together.
type row struct {
	start, duration      int64
	span, parentID       uint64
	trace, name, lane    int32
	kind                 op.Kind
	flags                rowFlag
	step, memory, launch int64
	stamp                int32
}

func (c *columns) rows() int { return len(c.start) }

// grow makes room for n more rows.
func (c *columns) grow(n int) {
	c.start = slices.Grow(c.start, n)
	c.duration = slices.Grow(c.duration, n)
	c.span = slices.Grow(c.span, n)
	c.parentID = slices.Grow(c.parentID, n)
	c.trace = slices.Grow(c.trace, n)
	c.name = slices.Grow(c.name, n)
	c.lane = slices.Grow(c.lane, n)
	c.kind = slices.Grow(c.kind, n)
	c.flags = slices.Grow(c.flags, n)
}

func (c *columns) append(r *row) {
	i := len(c.start)
	c.start = append(c.start, r.start)
	c.duration = append(c.duration, r.duration)
	c.span = append(c.span, r.span)
	c.parentID = append(c.parentID, r.parentID)
	c.trace = append(c.trace, r.trace)
	c.name = append(c.name, r.name)
	c.lane = append(c.lane, r.lane)
	c.kind = append(c.kind, r.kind)
	c.flags = append(c.flags, r.flags)
	c.step.set(i, r.step)
	c.memory.set(i, r.memory)
	c.launch.set(i, r.launch)
	c.stamp.set(i, r.stamp)
}

// merge appends the rows of other, which numbers its values as n says.
func (c *columns) merge(other *columns, n *renumbering) {
	base := c.rows()
	c.start = append(c.start, other.start...)
	c.duration = append(c.duration, other.duration...)
	c.span = append(c.span, other.span...)
	c.parentID = append(c.parentID, other.parentID...)
	c.kind = append(c.kind, other.kind...)
	c.trace = appendRenumbered(c.trace, other.trace, n.traces)
	c.lane = appendRenumbered(c.lane, other.lane, n.lanes)
	c.name = slices.Grow(c.name, len(other.name))
	for i, id := range other.name {
		if other.flags[i]&flagOp != 0 {
			c.name = append(c.name, n.operations[id])
		} else {
			c.name = append(c.name, n.spans[id])
		}
	}
	c.flags = append(c.flags, other.flags...)
	c.step.merge(base, other.step.values)
	c.memory.merge(base, other.memory.values)
	c.launch.merge(base, other.launch.values)
	for i, s := range other.stamp.values {
		c.stamp.set(base+i, n.stamps[s])
	}
}

func appendRenumbered(dst, ids, numbers []int32) []int32 {
	dst = slices.Grow(dst, len(ids))
	for _, id := range ids {
		dst = append(dst, numbers[id])
	}
	return dst
}

// has reports whether every flag of f is set on row r.
func (c *columns) has(r int32, f rowFlag) bool { return c.flags[r]&f == f }

// end returns the end of a row with a start.
func (c *columns) end(r int32) int64 { return c.start[r] + c.duration[r] }

// isDeviceSide reports whether row r takes part in the figures of its device:
// an operation, and not the host's view of one.
func (c *columns) isDeviceSide(r int32) bool { return c.flags[r]&(flagOp|flagHost) == flagOp }

// compareStart orders rows by start, end and then the order of the input, so
// that clocks that step back cannot make a result depend on chance.
func (c *columns) compareStart(a, b int32) int {
	if d := compareInt(c.start[a], c.start[b]); d != 0 {
		return d
	}
	if d := compareInt(c.duration[a], c.duration[b]); d != 0 {
		return d
	}
	return int(a) - int(b)
}

// compareEnd orders rows by end, the last first, then the longest first, then
// by the order of the input. Rows without a start come last.
func (c *columns) compareEnd(a, b int32) int {
	if d := int(c.flags[b]&flagStart) - int(c.flags[a]&flagStart); d != 0 {
		return d
	}
	if d := compareInt(c.end(b), c.end(a)); d != 0 {
		return d
	}
	if d := compareInt(c.duration[b], c.duration[a]); d != 0 {
		return d
	}
	return int(a) - int(b)
}

func compareInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// optional is a column that takes no memory before its first value. A row
// without a value has the zero value.
type optional[T comparable] struct {
	values []T
}

// set gives row i the value v. Rows are set in ascending order.
func (c *optional[T]) set(i int, v T) {
	var zero T
	if v == zero {
		return
	}
	c.values = append(c.values, make([]T, i-len(c.values))...)
	c.values = append(c.values, v)
}

func (c *optional[T]) at(i int32) T {
	if int(i) < len(c.values) {
		return c.values[i]
	}
	var zero T
	return zero
}

// merge sets the rows from base on to values.
func (c *optional[T]) merge(base int, values []T) {
	if len(values) == 0 {
		return
	}
	c.values = append(c.values, make([]T, base-len(c.values))...)
	c.values = append(c.values, values...)
}

func spanNumber(id op.SpanID) uint64 { return binary.BigEndian.Uint64(id[:]) }

func spanID(number uint64) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], number)
	return id
}
