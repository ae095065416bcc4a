package seed

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// blockRows is the number of entries in a block. Blocks are never moved, so that
// adding entries leaves no garbage behind.
const (
	blockBits = 10
	blockRows = 1 << blockBits
)

// Columns is a trace in memory, column by column: it gives the results of the
// functions over an [seed.Trace] in less memory and time.
//
//	t := seed.NewColumns(nil)
//	for e := range entries {
//		t.Add(e)
//	}
//	s := t.Summary()
//	fmt.Println(s.OperationSummary(), s.FlamegraphCollapsed())
//
// Of each entry it keeps the fields of a seed trace: step, operation, device,
// shapes, duration, elements and memory size. Names and shapes are kept once.
//
// A Columns is not safe for concurrent use, except that its methods other than
// Add may be called from several goroutines while none calls Add.
type Columns struct {
	// TotalDuration is the sum of the durations of the entries that are not host-side,
	// in nanoseconds, or the total that the trace states from which the Columns were
	// made.
	TotalDuration int64

	blocks []*entryBlock
	n      int

	pairs   pairs
	shapes  map[string]int32 // index in shaped by appendShapeKey
	shaped  []entryShapes
	scratch []byte
	// duration and memory bound every sum of durations or memory sizes.
	duration, memory magnitude
}

// entryBlock holds some entries, column by column.
type entryBlock struct {
	pair     [blockRows]int32 // number in Columns.pairs
	shapes   [blockRows]int32 // index of Columns.shaped
	duration [blockRows]int64 // ns
	memory   [blockRows]int64 // bytes
	known    [blockRows]knownFlag

	steps, elements *[blockRows]int64 // nil while all are 0
}

// knownFlag is a set of the numbers of an entry that are known.
type knownFlag uint8

const (
	knownStep knownFlag = 1 << iota
	knownElements
	knownMemory
)

// NewColumns returns the columns of t, which does not change; a nil t is empty.
func NewColumns(t *seed.Trace) *Columns {
	c := &Columns{}
	if t == nil {
		return c
	}
	for i := range t.Entries {
		c.Add(&t.Entries[i])
	}
	c.TotalDuration = t.TotalDuration
	return c
}

// Add appends an entry and adds its duration to the total, unless it is
// host-side. It keeps nothing of e but its strings.
func (t *Columns) Add(e *op.Entry) {
	if t.n == len(t.blocks)*blockRows {
		t.blocks = append(t.blocks, new(entryBlock))
	}
	b, i := t.at(t.n)
	b.pair[i] = t.pairs.number(e)
	b.shapes[i] = t.shapesOf(e)
	b.duration[i], b.memory[i] = e.Duration, e.MemoryBytes.V
	if e.Step.Known {
		b.known[i] |= knownStep
	}
	if e.OutputElements.Known {
		b.known[i] |= knownElements
	}
	if e.MemoryBytes.Known {
		b.known[i] |= knownMemory
	}
	setSparse(&b.steps, i, e.Step.V)
	setSparse(&b.elements, i, e.OutputElements.V)
	t.duration.add(e.Duration)
	t.memory.add(e.MemoryBytes.V)
	if e.Side != op.SideHost {
		t.TotalDuration = wide.AddSaturating(t.TotalDuration, e.Duration)
	}
	t.n++
}

func (t *Columns) at(i int) (b *entryBlock, row int) {
	return t.blocks[i>>blockBits], i & (blockRows - 1)
}

// Entry returns the i-th entry as far as it is kept. Its shapes belong to t.
func (t *Columns) Entry(i int) op.Entry {
	b, k := t.at(i)
	p := t.pairs.all.Values[b.pair[k]]
	shapes := t.shaped[b.shapes[k]]
	known := b.known[k]
	device := t.pairs.device(p.device)
	return op.Entry{
		Step:           op.Int{V: sparseAt(b.steps, k), Known: known&knownStep != 0},
		Operation:      t.pairs.operations.Values[p.operation],
		DeviceID:       device,
		EmptyDevice:    device == "" && p.device != noDevice,
		InputShapes:    shapes.inputs,
		OutputShape:    shapes.output,
		Duration:       b.duration[k],
		OutputElements: op.Int{V: sparseAt(b.elements, k), Known: known&knownElements != 0},
		MemoryBytes:    op.Int{V: b.memory[k], Known: known&knownMemory != 0},
	}
}

// setSparse sets a value of a column that is nil until it has a value.
func setSparse(column **[blockRows]int64, i int, v int64) {
	if v == 0 {
		return
	}
	if *column == nil {
		*column = new([blockRows]int64)
	}
	(*column)[i] = v
}

func sparseAt(column *[blockRows]int64, i int) int64 {
	if column == nil {
		return 0
	}
	return column[i]
}

// SlowestOps returns the indexes of the n entries with the longest durations,
// longest first and in order of appearance where durations are equal.
func (t *Columns) SlowestOps(n int) []int {
	n = min(n, t.n)
	if n <= 0 {
		return []int{}
	}
	var longest []place
	lowest := int64(math.MinInt64) // duration of the last candidate
	for k, b := range t.blocks {
		for i, d := range b.duration[:t.blockLen(k)] {
			if d < lowest {
				continue
			}
			longest = append(longest, place{k*blockRows + i, d})
			if len(longest) >= 2*n {
				longest = longestFirst(longest)[:n]
				lowest = wide.AddSaturating(longest[n-1].duration, 1)
			}
		}
	}
	places := make([]int, n)
	for i, p := range longestFirst(longest)[:n] {
		places[i] = p.index
	}
	return places
}

// place is the index and the duration of an entry.
type place struct {
	index    int
	duration int64
}

// longestFirst sorts places by duration, equal ones as they are.
func longestFirst(places []place) []place {
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.duration, a.duration) })
	return places
}

// blockLen returns how many entries block k holds.
func (t *Columns) blockLen(k int) int { return min(blockRows, t.n-k*blockRows) }

// magnitude is the sum of the magnitudes of numbers, which bounds the sum of any
// of them.
type magnitude struct{ sum uint64 }

func (m *magnitude) add(v int64) {
	if !m.fitsInt64() {
		return // any more might wrap
	}
	if v < 0 {
		m.sum -= uint64(v)
	} else {
		m.sum += uint64(v)
	}
}

// fitsInt64 reports whether sums fit an int64, in whatever order and of
// whichever numbers.
func (m magnitude) fitsInt64() bool { return m.sum <= math.MaxInt64 }
