package trace

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/optrace/optrace/op"
)

// Flags is a set of facts about a row.
type Flags uint16

// Flags of a row.
const (
	FlagOp        Flags = 1 << iota // an operation; otherwise a non-op span
	FlagStart                       // the start is known
	FlagHost                        // the host's view: op.SideHost
	FlagStep                        // the step is known
	FlagLaunch                      // the launch time is known
	FlagRemote                      // the parent is in another process
	FlagDuplicate                   // set by build: an earlier row has the same ids
	flagOrphan                      // set by build: its parent was not read
	FlagRepeat                      // set by build: a duplicate ignored by figures
	FlagMemory                      // the memory is known
	FlagFailed                      // op.Entry.Failed, op.Span.Failed
	FlagNegative                    // op.WarnNegativeDuration
	flagFLOPs                       // the FLOPs are known
	flagDerived                     // the FLOPs were not recorded

	// BuiltFlags are the flags set by build.
	BuiltFlags = FlagDuplicate | flagOrphan | FlagRepeat

	// The two bits from RuleShift on hold the op.KindRule.
	RuleShift = 14
)

// MaxTime bounds starts and ends on both sides of 1970, so that the distance of two times fits an int64:
// the years 1824 to 2116.
const MaxTime = 1<<62 - 1

// MaxRows bounds the rows, so that an int32 can number rows followed by as many stamps.
const MaxRows = 1 << 30

// NoRow is the absence of a row.
const NoRow int32 = -1

func noRows[N int | int32](n N) []int32 { return slices.Repeat([]int32{NoRow}, int(n)) }

// Columns of a row.
const (
	colStart    = iota // Unix ns, 0 without FlagStart
	colDuration        // ns
	colSpan            // the id
	colParent          // the id of the span above
	colTrace           // into Names.Traces
	colName            // into Names.Operations, or Names.Spans
	colLane            // into Names.Lanes
	colKind
	colStep
	colMemory   // bytes
	colLaunch   // Unix ns
	colElements // of the output, or below 0 for the shapes of a product with an unknown one
	colFLOPs
	colMoved  // the complement of the bytes, 0 for unknown
	colBound  // ps, negative if memory decides, 0 for unknown
	colWeight // the bits of op.Entry.AdjustedCount
	colLaunchSpan
	colCall    // duration of the launching call, ns
	colThreads // of a kernel's launch, 0 if unknown or above fewThreads
	colUnlinked
	colPower     // the bits of the mean power of the device, W
	colStamp     // into Names.Stamps
	colGroup     // into Names.Groups, 0 without keys to group by
	colVariety   // into Names.Varieties, 0 unless groups depend on the tree
	colShape     // into Names.Shapes, 0 without details
	colLauncher  // into Names.Launchers
	colMark      // into Names.Marks
	colArguments // into Names.Arguments, 0 without details
	colGraph     // into Names.Graphs
	colError     // into Names.Errors
	colThread    // into Names.Threads
	colPath      // into Names.Paths
	numColumns
)

type row struct {
	values [numColumns]int64
	flags  Flags
}

// columns holds rows in blocks, packed but for the last ones added.
type columns struct {
	N      int32
	blocks []*block
	open   *openRows // the rows behind the blocks
	bytes  int64     // of the blocks
}

// Len returns the number of operations and spans.
func (c *columns) Len() int { return int(c.N) }

// Rows returns Len as an int32.
func (c *columns) Rows() int32 { return c.N }

func (c *columns) append(r *row) {
	i := c.room()
	c.open.flags[i] = r.flags
	for of, v := range r.values {
		if v != 0 {
			c.open.column(of, i, 1)[0] = v
		}
	}
	c.added(1)
}

// room makes room for a row in open and returns its index there.
func (c *columns) room() (i int32) {
	if c.open == nil {
		c.open = new(openRows)
	}
	i = c.N % blockRows
	if last := len(c.blocks) - 1; i != 0 && int(c.N/blockRows) == last { // packed before it was full
		b := c.blocks[last]
		c.open.copy(0, b, 0, i)
		c.bytes -= b.size()
		c.blocks = c.blocks[:last]
	}
	return i
}

// added counts n rows in open, which it packs when they are a block.
func (c *columns) added(n int32) {
	if c.N += n; c.N%blockRows == 0 {
		c.pack()
	}
}

// pack packs the open rows. Rows can be read afterwards.
func (c *columns) pack() {
	n := int(c.N) - len(c.blocks)*blockRows
	if n <= 0 {
		return
	}
	b := c.open.pack(n)
	c.bytes += b.size()
	c.blocks = append(c.blocks, b)
}

func (c *columns) number(r int32, of int) int64 { return c.block(r).value(of, at(r)) }

func (c *columns) code(r int32, of int) int32 { return int32(c.number(r, of)) }

// set changes a value of row r.
func (c *columns) set(r int32, of int, v int64) {
	b := c.block(r)
	c.bytes -= b.size()
	b.set(of, at(r), v, min(blockRows, int(c.N-r+int32(at(r)))))
	c.bytes += b.size()
}

// change passes the values of a column to f, for the rows of the block that starts with row first.
func (c *columns) change(first int32, of int, f func(r int32, v int64) int64) {
	b := c.block(first)
	n := min(blockRows, int(c.N-first))
	values := make([]int64, n)
	b.read(of, 0, values)
	for i := range values {
		values[i] = f(first+int32(i), values[i])
	}
	c.bytes -= b.size()
	b.replace(of, values, n)
	c.bytes += b.size()
}

// block returns the block of row r, and at its index there. Unsigned numbers divide by a shift.
func (c *columns) block(r int32) *block { return c.blocks[uint32(r)/blockRows] }

func at(r int32) uint32 { return uint32(r) % blockRows }

// Start returns the start of row r in Unix nanoseconds, 0 without FlagStart.
func (c *columns) Start(r int32) int64 { return c.number(r, colStart) }

// Duration returns the duration of row r in nanoseconds.
func (c *columns) Duration(r int32) int64 { return c.number(r, colDuration) }

// Span returns the span id of row r or 0.
func (c *columns) Span(r int32) uint64 { return uint64(c.number(r, colSpan)) }

// ParentID returns the id of the span above row r or 0.
func (c *columns) ParentID(r int32) uint64 { return uint64(c.number(r, colParent)) }

// Trace returns the number of the trace of row r in Names.Traces.
func (c *columns) Trace(r int32) int32 { return int32(c.number(r, colTrace)) }

// Name returns the number of the name of row r, in Names.Operations or Names.Spans.
func (c *columns) Name(r int32) int32 { return int32(c.number(r, colName)) }

// Lane returns the number of the lane of row r in Names.Lanes.
func (c *columns) Lane(r int32) int32 { return int32(c.number(r, colLane)) }

// Kind returns the kind of row r.
func (c *columns) Kind(r int32) op.Kind { return op.Kind(c.number(r, colKind)) }

// Flags returns the facts about row r.
func (c *columns) Flags(r int32) Flags { return c.block(r).flags[at(r)] }

// Step returns the step of row r, 0 without FlagStep.
func (c *columns) Step(r int32) int64 { return c.number(r, colStep) }

// Memory returns the memory of row r in bytes, 0 without FlagMemory.
func (c *columns) Memory(r int32) int64 { return c.number(r, colMemory) }

// Launch returns the launch time of row r in Unix nanoseconds, 0 without FlagLaunch.
func (c *columns) Launch(r int32) int64 { return c.number(r, colLaunch) }

// fewThreads is the most threads that a row keeps: those of one multiprocessor.
const fewThreads = 2048

// FewThreads returns the threads of the launch of row r, 0 if they are not known, or more than those of one multiprocessor.
func (c *columns) FewThreads(r int32) int64 { return c.number(r, colThreads) }

// Launched returns the end of the call that launched row r, or its launch time if the end is unknown.
func (c *columns) Launched(r int32) int64 { return c.Launch(r) + min(c.number(r, colCall), MaxTime) }

// Elements returns the number of elements in the output of row r.
func (c *columns) Elements(r int32) int64 { return max(0, c.number(r, colElements)) }

// Flops returns the FLOPs of row r, 0 if unknown.
func (c *columns) Flops(r int32) int64 { return c.number(r, colFLOPs) }

// Unlinked returns the number of links of row r dropped by its recorder.
func (c *columns) Unlinked(r int32) int64 { return c.number(r, colUnlinked) }

// Power returns the measured mean power of the device during row r in watts, 0 if unknown.
func (c *columns) Power(r int32) float64 { return math.Float64frombits(uint64(c.number(r, colPower))) }

// Stamp returns the number in Names.Stamps of the local root named by row r.
func (c *columns) Stamp(r int32) int32 { return c.code(r, colStamp) }

// Mark returns the number in Names.Marks of the step name and phase of row r.
func (c *columns) Mark(r int32) int32 { return c.code(r, colMark) }

// Group returns the number in Names.Groups of the group of row r.
func (c *columns) Group(r int32) int32 { return c.code(r, colGroup) }

// Variety returns the number in Names.Varieties of the shapes and element types of row r.
func (c *columns) Variety(r int32) int32 { return c.code(r, colVariety) }

// Shape returns the number in Names.Shapes of the shapes of row r.
func (c *columns) Shape(r int32) int32 { return c.code(r, colShape) }

// Arguments returns the number in Names.Arguments of the arguments of row r.
func (c *columns) Arguments(r int32) int32 { return c.code(r, colArguments) }

// Thread returns the number in Names.Threads of the thread of row r, 0 if unknown.
func (c *columns) Thread(r int32) int32 { return c.code(r, colThread) }

// Path returns the number in Names.Paths of the layer of row r, 0 if its path is unknown or has other than one number.
func (c *columns) Path(r int32) int32 { return c.code(r, colPath) }

// Weight returns the sampling weight of row r.
func (c *columns) Weight(r int32) float64 {
	return math.Float64frombits(uint64(c.number(r, colWeight)))
}

// End returns the end of a row with a start.
func (c *columns) End(r int32) int64 { return c.Start(r) + c.Duration(r) }

// Has reports whether row r has every flag in f.
func (c *columns) Has(r int32, f Flags) bool { return c.Flags(r)&f == f }

func (c *columns) setFlags(r int32, f Flags) { c.block(r).flags[at(r)] |= f }

func (c *columns) clearFlags(r int32, f Flags) { c.block(r).flags[at(r)] &^= f }

// IsDeviceSide reports whether row r counts for its device: an operation that is neither the host's view nor a repeat.
func (c *columns) IsDeviceSide(r int32) bool {
	return c.Flags(r)&(FlagOp|FlagHost|FlagRepeat) == FlagOp
}

// CountsInSums reports whether row r is an operation other than a repeat.
func (c *columns) CountsInSums(r int32) bool { return c.Flags(r)&(FlagOp|FlagRepeat) == FlagOp }

// SpanNumber returns an id as stored in rows.
func SpanNumber(id op.SpanID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// SpanID returns the id for a stored number.
func SpanID(number uint64) (id op.SpanID) {
	binary.BigEndian.PutUint64(id[:], number)
	return id
}
