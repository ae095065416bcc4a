package analyze

import (
	"encoding/binary"

	"github.com/optrace/optrace/op"
)

// rowFlag is a set of facts about a row.
type rowFlag uint16

const (
	flagOp        rowFlag = 1 << iota // an operation; otherwise a non-op span
	flagStart                         // the start is known
	flagHost                          // the host's view: op.SideHost
	flagStep                          // the step is known
	flagLaunch                        // the launch time is known
	flagRemote                        // the parent lies in another process
	flagDuplicate                     // set by build: its ids were seen before
	flagOrphan                        // set by build: its parent was not read
	flagRepeat                        // set by build: a duplicate that counts in no figure
	flagMemory                        // the memory is known
	flagFailed                        // op.Entry.Failed
	flagNegative                      // op.WarnNegativeDuration

	builtFlags = flagDuplicate | flagOrphan | flagRepeat

	// The two bits from ruleShift on are the op.KindRule.
	ruleShift = 14
)

// maxTime bounds starts and ends on both sides of 1970, so that the distance
// of two of them fits an int64: the years 1824 to 2116.
const maxTime = 1<<62 - 1

// maxRows bounds the rows, so that an int32 numbers them and as many stamps.
const maxRows = 1 << 30

// row is an operation or a span as it is added.
type row struct {
	start, duration   int64
	span, parentID    uint64
	trace, name, lane int32
	kind              op.Kind
	flags             rowFlag
	step, memory      int64
	launch            int64
	stamp             int32
	elements, flops   int64
	weight            int64
	group             int32
	variety           int32
	shape             int32
}

// blockRows is how many rows a block holds. Blocks are never moved, so that
// adding leaves no garbage behind: a slice that grows would have been copied
// four times, and the collector lets the heap double on that.
const (
	blockBits = 10
	blockRows = 1 << blockBits
)

// block holds some rows, column by column: 47 bytes each.
type block struct {
	start    [blockRows]int64 // Unix ns; 0 without flagStart
	duration [blockRows]int64 // ns
	span     [blockRows]uint64
	parentID [blockRows]uint64
	trace    [blockRows]int32 // into dictionary.traces
	name     [blockRows]int32 // into dictionary.operations, for spans dictionary.spans
	lane     [blockRows]int32 // into dictionary.lanes
	kind     [blockRows]op.Kind
	flags    [blockRows]rowFlag
}

// columns holds a row per operation and span. The optional columns take memory
// once rows have a value for them.
type columns struct {
	blocks []*block
	n      int32

	steps    optional[int64]
	memories optional[int64] // bytes
	launches optional[int64] // Unix ns
	stamps   optional[int32] // into dictionary.stamps
	elements optional[int64]
	flops    optional[int64]
	weights  optional[int64] // the bits of op.Entry.AdjustedCount
	groups   optional[int32] // into dictionary.groups, only with keys to group by
	// varieties are numbers into dictionary.varieties, only where the groups are
	// made again.
	varieties optional[int32]
	shapes    optional[int32] // into dictionary.shapes, only with details
}

func (c *columns) rows() int { return int(c.n) }

// at returns the block of row r and its place there.
func (c *columns) at(r int32) (b *block, i int32) { return c.blocks[r>>blockBits], r & (blockRows - 1) }

func (c *columns) append(r *row) {
	if int(c.n) == len(c.blocks)*blockRows {
		c.blocks = append(c.blocks, new(block))
	}
	b, i := c.at(c.n)
	b.start[i], b.duration[i] = r.start, r.duration
	b.span[i], b.parentID[i] = r.span, r.parentID
	b.trace[i], b.name[i], b.lane[i] = r.trace, r.name, r.lane
	b.kind[i], b.flags[i] = r.kind, r.flags
	c.steps.set(c.n, r.step)
	c.memories.set(c.n, r.memory)
	c.launches.set(c.n, r.launch)
	c.stamps.set(c.n, r.stamp)
	c.elements.set(c.n, r.elements)
	c.flops.set(c.n, r.flops)
	c.weights.set(c.n, r.weight)
	c.groups.set(c.n, r.group)
	c.varieties.set(c.n, r.variety)
	c.shapes.set(c.n, r.shape)
	c.n++
}

func (c *columns) start(r int32) int64     { b, i := c.at(r); return b.start[i] }
func (c *columns) duration(r int32) int64  { b, i := c.at(r); return b.duration[i] }
func (c *columns) span(r int32) uint64     { b, i := c.at(r); return b.span[i] }
func (c *columns) parentID(r int32) uint64 { b, i := c.at(r); return b.parentID[i] }
func (c *columns) trace(r int32) int32     { b, i := c.at(r); return b.trace[i] }
func (c *columns) name(r int32) int32      { b, i := c.at(r); return b.name[i] }
func (c *columns) lane(r int32) int32      { b, i := c.at(r); return b.lane[i] }
func (c *columns) kind(r int32) op.Kind    { b, i := c.at(r); return b.kind[i] }
func (c *columns) flags(r int32) rowFlag   { b, i := c.at(r); return b.flags[i] }
func (c *columns) step(r int32) int64      { return c.steps.at(r) }
func (c *columns) memory(r int32) int64    { return c.memories.at(r) }
func (c *columns) launch(r int32) int64    { return c.launches.at(r) }
func (c *columns) stamp(r int32) int32     { return c.stamps.at(r) }

// end returns the end of a row with a start.
func (c *columns) end(r int32) int64 { b, i := c.at(r); return b.start[i] + b.duration[i] }

// has reports whether every flag of f is set on row r.
func (c *columns) has(r int32, f rowFlag) bool { return c.flags(r)&f == f }

func (c *columns) setFlags(r int32, f rowFlag)   { b, i := c.at(r); b.flags[i] |= f }
func (c *columns) clearFlags(r int32, f rowFlag) { b, i := c.at(r); b.flags[i] &^= f }

// isDeviceSide reports whether row r takes part in the figures of its device:
// an operation, not the host's view of one, and no repeat.
func (c *columns) isDeviceSide(r int32) bool {
	return c.flags(r)&(flagOp|flagHost|flagRepeat) == flagOp
}

// isCollective reports whether row r has an entry among the collectives.
func (c *columns) isCollective(r int32) bool {
	return c.flags(r)&(flagOp|flagHost) == flagOp && c.kind(r) == op.KindCollective
}

// countsInSums reports whether row r is an operation that counts in sums.
func (c *columns) countsInSums(r int32) bool { return c.flags(r)&(flagOp|flagRepeat) == flagOp }

// compareStart orders rows by start, end and then the order of the input, so
// that clocks that step back cannot make a result depend on chance.
func (c *columns) compareStart(x, y int32) int {
	a, i := c.at(x)
	b, j := c.at(y)
	if d := compareInt(a.start[i], b.start[j]); d != 0 {
		return d
	}
	if d := compareInt(a.duration[i], b.duration[j]); d != 0 {
		return d
	}
	return int(x) - int(y)
}

// compareEnd orders rows by end, the last first, then the longest first, then
// by the order of the input. Rows without a start come last.
func (c *columns) compareEnd(x, y int32) int {
	a, i := c.at(x)
	b, j := c.at(y)
	if d := int(b.flags[j]&flagStart) - int(a.flags[i]&flagStart); d != 0 {
		return d
	}
	if d := compareInt(b.start[j]+b.duration[j], a.start[i]+a.duration[i]); d != 0 {
		return d
	}
	if d := compareInt(b.duration[j], a.duration[i]); d != 0 {
		return d
	}
	return int(x) - int(y)
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

// optional is a column in which a block takes memory from its first value on.
// A row without a value has the zero value.
type optional[T comparable] struct {
	blocks []*[blockRows]T
}

// set gives row r the value v.
func (c *optional[T]) set(r int32, v T) {
	var zero T
	if v == zero {
		return
	}
	for int(r>>blockBits) >= len(c.blocks) {
		c.blocks = append(c.blocks, nil)
	}
	b := &c.blocks[r>>blockBits]
	if *b == nil {
		*b = new([blockRows]T)
	}
	(*b)[r&(blockRows-1)] = v
}

func (c *optional[T]) at(r int32) T {
	if i := int(r >> blockBits); i < len(c.blocks) && c.blocks[i] != nil {
		return c.blocks[i][r&(blockRows-1)]
	}
	var zero T
	return zero
}

func spanNumber(id op.SpanID) uint64 { return binary.BigEndian.Uint64(id[:]) }

func spanID(number uint64) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], number)
	return id
}
