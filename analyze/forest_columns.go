package analyze

import (
	"encoding/binary"
	"iter"
	"math"

	"github.com/optrace/optrace/analyze/internal/packed"
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
	flagFLOPs                         // the FLOPs are known
	flagDerived                       // the FLOPs were not recorded

	builtFlags = flagDuplicate | flagOrphan | flagRepeat

	// The two bits from ruleShift on are the op.KindRule.
	ruleShift = 14
)

// maxTime bounds starts and ends on both sides of 1970, so that the distance
// of two of them fits an int64: the years 1824 to 2116.
const maxTime = 1<<62 - 1

// maxRows bounds the rows, so that an int32 numbers them and as many stamps.
const maxRows = 1 << 30

// The columns of a row.
const (
	colStart    = iota // Unix ns; 0 without flagStart
	colDuration        // ns
	colSpan
	colParentID
	colTrace // into dictionary.traces
	colName  // into dictionary.operations, for spans dictionary.spans
	colLane  // into dictionary.lanes
	colKind
	colStep
	colMemory // bytes
	colLaunch // Unix ns
	colStamp  // into dictionary.stamps
	colElements
	colFLOPs
	colMoved   // the complement of the bytes, 0 for unknown
	colBound   // ps, negative where memory decides, 0 for unknown
	colWeight  // the bits of op.Entry.AdjustedCount
	colGroup   // into dictionary.groups, 0 without keys to group by
	colVariety // into dictionary.varieties, 0 unless the groups are made again
	colShape   // into dictionary.shapes, 0 without details
	numColumns
)

// row is an operation or a span as it is added.
type row struct {
	values [numColumns]int64
	flags  rowFlag
}

// columns holds a row per operation and span.
type columns struct {
	n      int32
	values packed.Table
	facts  []*[packed.BlockRows]rowFlag // two bytes per row
	// groups has the groups of the rows where some are not as they were added.
	groups []int32
}

func newColumns() columns { return columns{values: packed.New(numColumns)} }

func (c *columns) rows() int { return int(c.n) }

func (c *columns) append(values []int64, flags rowFlag) {
	b, i := int(c.n/packed.BlockRows), c.n%packed.BlockRows
	if b == len(c.facts) {
		c.facts = append(c.facts, new([packed.BlockRows]rowFlag))
	}
	c.facts[b][i] = flags
	c.values.Append(values)
	c.n++
}

// join appends the rows of o, which must not be used any more, to those of c, which fill
// their blocks.
func (c *columns) join(o *columns) {
	c.values.Join(&o.values)
	c.facts = append(c.facts, o.facts...)
	c.n += o.n
}

func (c *columns) start(r int32) int64     { return c.values.At(r, colStart) }
func (c *columns) duration(r int32) int64  { return c.values.At(r, colDuration) }
func (c *columns) span(r int32) uint64     { return uint64(c.values.At(r, colSpan)) }
func (c *columns) parentID(r int32) uint64 { return uint64(c.values.At(r, colParentID)) }
func (c *columns) trace(r int32) int32     { return int32(c.values.At(r, colTrace)) }
func (c *columns) name(r int32) int32      { return int32(c.values.At(r, colName)) }
func (c *columns) lane(r int32) int32      { return int32(c.values.At(r, colLane)) }
func (c *columns) kind(r int32) op.Kind    { return op.Kind(c.values.At(r, colKind)) }
func (c *columns) step(r int32) int64      { return c.values.At(r, colStep) }
func (c *columns) memory(r int32) int64    { return c.values.At(r, colMemory) }
func (c *columns) launch(r int32) int64    { return c.values.At(r, colLaunch) }
func (c *columns) stamp(r int32) int32     { return int32(c.values.At(r, colStamp)) }
func (c *columns) elements(r int32) int64  { return c.values.At(r, colElements) }
func (c *columns) flops(r int32) int64     { return c.values.At(r, colFLOPs) }
func (c *columns) moved(r int32) int64     { return c.values.At(r, colMoved) }
func (c *columns) bound(r int32) int64     { return c.values.At(r, colBound) }
func (c *columns) variety(r int32) int32   { return int32(c.values.At(r, colVariety)) }
func (c *columns) shape(r int32) int32     { return int32(c.values.At(r, colShape)) }

// weight returns the sampling weight of row r.
func (c *columns) weight(r int32) float64 {
	return math.Float64frombits(uint64(c.values.At(r, colWeight)))
}

// inOrder returns a column of rows that are asked for one after the other.
func (c *columns) inOrder(column int) *columnInOrder {
	return &columnInOrder{values: &c.values, column: column, block: -1}
}

// columnInOrder has the values of a column. It unpacks a block at a time, so that asking for
// rows in their order is the fastest.
type columnInOrder struct {
	values *packed.Table
	column int
	block  int32
	rows   [packed.BlockRows]int64
}

// int64 returns the value of row r.
func (c *columnInOrder) int64(r int32) int64 {
	if b := r / packed.BlockRows; b != c.block {
		c.block = b
		c.values.Read(c.rows[:min(packed.BlockRows, c.values.Rows()-int(b)*packed.BlockRows)], int(b), 0, c.column)
	}
	return c.rows[r%packed.BlockRows]
}

// int32 returns the value of row r, which is a number of the dictionary.
func (c *columnInOrder) int32(r int32) int32 { return int32(c.int64(r)) }

// batchRows is how many rows are looked up at once.
const batchRows = 256

// rowBatch is rows with their times.
type rowBatch struct {
	rows              []int32
	starts, durations []int64
	values            []int64 // of one more column
}

// batches yields rows in parts, with their times and the values of a column.
func (c *columns) batches(rows []int32, column int) iter.Seq[*rowBatch] {
	return func(yield func(*rowBatch) bool) {
		var buffer [3][batchRows]int64
		var b rowBatch
		for len(rows) > 0 {
			n := min(len(rows), batchRows)
			b = rowBatch{rows: rows[:n], starts: buffer[0][:n], durations: buffer[1][:n], values: buffer[2][:n]}
			c.values.Gather(b.starts, b.rows, colStart)
			c.values.Gather(b.durations, b.rows, colDuration)
			c.values.Gather(b.values, b.rows, column)
			if !yield(&b) {
				return
			}
			rows = rows[n:]
		}
	}
}

// group returns the group of row r.
func (c *columns) group(r int32) int32 {
	if int(r) < len(c.groups) {
		return c.groups[r]
	}
	return int32(c.values.At(r, colGroup))
}

// setGroup changes the group of row r.
func (c *columns) setGroup(r, group int32) {
	for int(c.n) > len(c.groups) {
		c.groups = append(c.groups, c.group(int32(len(c.groups))))
	}
	c.groups[r] = group
}

func (c *columns) flags(r int32) rowFlag { return c.facts[r/packed.BlockRows][r%packed.BlockRows] }

// end returns the end of a row with a start.
func (c *columns) end(r int32) int64 { return c.start(r) + c.duration(r) }

// has reports whether every flag of f is set on row r.
func (c *columns) has(r int32, f rowFlag) bool { return c.flags(r)&f == f }

func (c *columns) setFlags(r int32, f rowFlag) {
	c.facts[r/packed.BlockRows][r%packed.BlockRows] |= f
}

func (c *columns) clearFlags(r int32, f rowFlag) {
	c.facts[r/packed.BlockRows][r%packed.BlockRows] &^= f
}

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
	if d := compareInt(c.start(x), c.start(y)); d != 0 {
		return d
	}
	if d := compareInt(c.duration(x), c.duration(y)); d != 0 {
		return d
	}
	return int(x) - int(y)
}

// compareEnd orders rows by end, the last first, then the longest first, then
// by the order of the input. Rows without a start come last.
func (c *columns) compareEnd(x, y int32) int {
	if d := int(c.flags(y)&flagStart) - int(c.flags(x)&flagStart); d != 0 {
		return d
	}
	if d := compareInt(c.end(y), c.end(x)); d != 0 {
		return d
	}
	if d := compareInt(c.duration(y), c.duration(x)); d != 0 {
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

func spanNumber(id op.SpanID) uint64 { return binary.BigEndian.Uint64(id[:]) }

func spanID(number uint64) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], number)
	return id
}
