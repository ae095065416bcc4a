package analyze

import (
	"cmp"
	"encoding/binary"
	"math"
	"unsafe"

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

// noRow stands for the absence of a row.
const noRow int32 = -1

// blockRows is how many rows a block holds.
const blockRows = 1 << 10

// The columns of 64 bits that many operations lack.
const (
	colStep     = iota
	colMemory   // bytes
	colLaunch   // Unix ns
	colElements // of the output
	colFLOPs
	colMoved  // the complement of the bytes, 0 for unknown
	colBound  // ps, negative where memory decides, 0 for unknown
	colWeight // the bits of op.Entry.AdjustedCount
	numNumbers
)

// The columns of numbers of a dictionary that many operations lack.
const (
	colStamp   = iota // into dictionary.stamps
	colGroup          // into dictionary.groups, 0 without keys to group by
	colVariety        // into dictionary.varieties, 0 unless the groups are made again
	colShape          // into dictionary.shapes, 0 without details
	numCodes
)

// row is an operation or a span as it is added.
type row struct {
	start, duration   int64 // Unix ns, 0 without flagStart; ns
	span, parent      uint64
	trace, name, lane int32 // into dictionary.traces; operations, or spans; lanes
	kind              op.Kind
	flags             rowFlag
	numbers           [numNumbers]int64
	codes             [numCodes]int32
}

// block holds rows, column by column: 47 bytes a row, and those of the other columns that
// any of its rows has a value of.
type block struct {
	start, duration   [blockRows]int64
	span, parent      [blockRows]uint64
	trace, name, lane [blockRows]int32
	kind              [blockRows]op.Kind
	flags             [blockRows]rowFlag

	numbers [numNumbers]*[blockRows]int64 // nil where all values are 0
	codes   [numCodes]*[blockRows]int32
}

// columns holds a row per operation and span.
type columns struct {
	n      int32
	blocks []*block
	free   []*block // whose rows were read, for others
	bytes  int64    // of the blocks
}

// Len returns the number of operations and spans.
func (c *columns) Len() int { return int(c.n) }

// rowCount is Len as the number of a row.
func (c *columns) rowCount() int32 { return c.n }

// append appends a row.
func (c *columns) append(r *row) {
	b, i := c.room(), c.n%blockRows
	b.start[i], b.duration[i] = r.start, r.duration
	b.span[i], b.parent[i] = r.span, r.parent
	b.trace[i], b.name[i], b.lane[i] = r.trace, r.name, r.lane
	b.kind[i], b.flags[i] = r.kind, r.flags
	for k, v := range r.numbers {
		if v != 0 {
			c.numbers(b, k)[i] = v
		}
	}
	for k, v := range r.codes {
		if v != 0 {
			c.codes(b, k)[i] = v
		}
	}
	c.n++
}

// room returns the block that the next row goes to.
func (c *columns) room() *block {
	at := int(c.n / blockRows)
	if at < len(c.blocks) {
		return c.blocks[at]
	}
	var b *block
	if n := len(c.free); n > 0 {
		b, c.free = c.free[n-1], c.free[:n-1]
		b.clear()
	} else {
		b = new(block)
	}
	c.blocks = append(c.blocks, b)
	c.bytes += b.size()
	return b
}

// clear prepares a block for other rows, which set the columns that it has anyway.
func (b *block) clear() {
	for _, values := range b.numbers {
		if values != nil {
			clear(values[:])
		}
	}
	for _, values := range b.codes {
		if values != nil {
			clear(values[:])
		}
	}
}

// size returns how many bytes a block takes.
func (b *block) size() int64 {
	n := unsafe.Sizeof(*b)
	for _, values := range b.numbers {
		if values != nil {
			n += unsafe.Sizeof(*values)
		}
	}
	for _, values := range b.codes {
		if values != nil {
			n += unsafe.Sizeof(*values)
		}
	}
	return int64(n)
}

// numbers returns a column of a block to write to.
func (c *columns) numbers(b *block, column int) *[blockRows]int64 {
	if b.numbers[column] == nil {
		b.numbers[column] = new([blockRows]int64)
		c.bytes += int64(unsafe.Sizeof(*b.numbers[column]))
	}
	return b.numbers[column]
}

// codes returns a column of a block to write to.
func (c *columns) codes(b *block, column int) *[blockRows]int32 {
	if b.codes[column] == nil {
		b.codes[column] = new([blockRows]int32)
		c.bytes += int64(unsafe.Sizeof(*b.codes[column]))
	}
	return b.codes[column]
}

// copy appends n rows of a block from the i-th on, for which the last block has room, and
// returns that and the place of the first of them.
func (c *columns) copy(from *block, i, n int32) (to *block, k int32) {
	to, k = c.room(), c.n%blockRows
	copy(to.start[k:k+n], from.start[i:])
	copy(to.duration[k:k+n], from.duration[i:])
	copy(to.span[k:k+n], from.span[i:])
	copy(to.parent[k:k+n], from.parent[i:])
	copy(to.trace[k:k+n], from.trace[i:])
	copy(to.name[k:k+n], from.name[i:])
	copy(to.lane[k:k+n], from.lane[i:])
	copy(to.kind[k:k+n], from.kind[i:])
	copy(to.flags[k:k+n], from.flags[i:])
	for column, values := range from.numbers {
		if values != nil {
			copy(c.numbers(to, column)[k:k+n], values[i:])
		}
	}
	for column, values := range from.codes {
		if values != nil {
			copy(c.codes(to, column)[k:k+n], values[i:])
		}
	}
	c.n += n
	return to, k
}

// number returns the value of row r in a column.
func (c *columns) number(r int32, column int) int64 {
	if values := c.blocks[r/blockRows].numbers[column]; values != nil {
		return values[r%blockRows]
	}
	return 0
}

// code returns the value of row r in a column.
func (c *columns) code(r int32, column int) int32 {
	if values := c.blocks[r/blockRows].codes[column]; values != nil {
		return values[r%blockRows]
	}
	return 0
}

func (c *columns) start(r int32) int64     { return c.blocks[r/blockRows].start[r%blockRows] }
func (c *columns) duration(r int32) int64  { return c.blocks[r/blockRows].duration[r%blockRows] }
func (c *columns) span(r int32) uint64     { return c.blocks[r/blockRows].span[r%blockRows] }
func (c *columns) parentID(r int32) uint64 { return c.blocks[r/blockRows].parent[r%blockRows] }
func (c *columns) trace(r int32) int32     { return c.blocks[r/blockRows].trace[r%blockRows] }
func (c *columns) name(r int32) int32      { return c.blocks[r/blockRows].name[r%blockRows] }
func (c *columns) lane(r int32) int32      { return c.blocks[r/blockRows].lane[r%blockRows] }
func (c *columns) kind(r int32) op.Kind    { return c.blocks[r/blockRows].kind[r%blockRows] }
func (c *columns) flags(r int32) rowFlag   { return c.blocks[r/blockRows].flags[r%blockRows] }
func (c *columns) step(r int32) int64      { return c.number(r, colStep) }
func (c *columns) memory(r int32) int64    { return c.number(r, colMemory) }
func (c *columns) launch(r int32) int64    { return c.number(r, colLaunch) }
func (c *columns) elements(r int32) int64  { return c.number(r, colElements) }
func (c *columns) flops(r int32) int64     { return c.number(r, colFLOPs) }
func (c *columns) moved(r int32) int64     { return c.number(r, colMoved) }
func (c *columns) bound(r int32) int64     { return c.number(r, colBound) }
func (c *columns) stamp(r int32) int32     { return c.code(r, colStamp) }
func (c *columns) group(r int32) int32     { return c.code(r, colGroup) }
func (c *columns) variety(r int32) int32   { return c.code(r, colVariety) }
func (c *columns) shape(r int32) int32     { return c.code(r, colShape) }

// weight returns the sampling weight of row r.
func (c *columns) weight(r int32) float64 {
	return math.Float64frombits(uint64(c.number(r, colWeight)))
}

// end returns the end of a row with a start.
func (c *columns) end(r int32) int64 { return c.start(r) + c.duration(r) }

// setGroup changes the group of row r.
func (c *columns) setGroup(r, group int32) {
	c.codes(c.blocks[r/blockRows], colGroup)[r%blockRows] = group
}

// has reports whether every flag of f is set on row r.
func (c *columns) has(r int32, f rowFlag) bool { return c.flags(r)&f == f }

func (c *columns) setFlags(r int32, f rowFlag) { c.blocks[r/blockRows].flags[r%blockRows] |= f }

func (c *columns) clearFlags(r int32, f rowFlag) { c.blocks[r/blockRows].flags[r%blockRows] &^= f }

// isDeviceSide reports whether row r takes part in the figures of its device:
// an operation, not the host's view of one, and no repeat.
func (c *columns) isDeviceSide(r int32) bool {
	return c.flags(r)&(flagOp|flagHost|flagRepeat) == flagOp
}

// countsInSums reports whether row r is an operation that counts in sums.
func (c *columns) countsInSums(r int32) bool { return c.flags(r)&(flagOp|flagRepeat) == flagOp }

// compareStart orders rows by start, end and then the order of the input, so
// that clocks that step back cannot make a result depend on chance.
func (c *columns) compareStart(x, y int32) int {
	if d := cmp.Compare(c.start(x), c.start(y)); d != 0 {
		return d
	}
	if d := cmp.Compare(c.duration(x), c.duration(y)); d != 0 {
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
	if d := cmp.Compare(c.end(y), c.end(x)); d != 0 {
		return d
	}
	if d := cmp.Compare(c.duration(y), c.duration(x)); d != 0 {
		return d
	}
	return int(x) - int(y)
}

func spanNumber(id op.SpanID) uint64 { return binary.BigEndian.Uint64(id[:]) }

func spanID(number uint64) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], number)
	return id
}
