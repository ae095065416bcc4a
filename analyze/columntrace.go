package analyze

import (
	"math"
	"slices"

	"github.com/optrace/optrace/op"
)

// ColumnTrace is a trace held in memory column by column: it answers what the
// functions on an [op.Trace] do, with the same results, from a tenth of the
// memory and many times faster. BenchmarkSeedAnalyses takes 3.5 ns an entry for
// the seed's five analyses together, and 130 ns with an op.Trace.
//
//	t := analyze.NewColumnTrace(nil)
//	for e := range entries {
//		t.Add(e)
//	}
//	s := t.Summary()
//	fmt.Println(s.OperationSummary(), s.FlamegraphCollapsed())
//
// Of each entry it keeps what a seed trace tells: step, operation, device,
// shapes, duration, elements and memory size. These take 25 bytes, and 8 more
// each for the step and the elements, where there are any. Names and shapes are
// kept once. Adding an entry takes about 100 ns.
//
// A ColumnTrace is not safe for concurrent use, except that its methods other
// than Add may be called from several goroutines while none calls Add.
type ColumnTrace struct {
	// TotalDuration is the sum of the entries' durations in nanoseconds, or what
	// the file that the trace was read from states.
	TotalDuration int64
	// Metadata describes the trace.
	Metadata map[string]string

	blocks []*entryBlock
	n      int

	pairs   pairIndex
	shapes  symbols[string] // by what appendShapeKey makes of them
	shaped  []entryShapes   // by number of shapes
	scratch []byte
	// duration and memory bound every sum of durations or memory sizes.
	duration, memory magnitude
}

// entryBlock holds some entries, column by column.
type entryBlock struct {
	pair     [blockRows]int32 // into ColumnTrace.pairs
	shapes   [blockRows]int32 // into ColumnTrace.shaped
	duration [blockRows]int64 // ns
	memory   [blockRows]int64 // bytes
	known    [blockRows]knownFlag

	steps, elements *[blockRows]int64 // nil while all are 0
}

// knownFlag tells which of the numbers of an entry are known.
type knownFlag uint8

const (
	knownStep knownFlag = 1 << iota
	knownElements
	knownMemory
)

// NewColumnTrace returns the columns of t, which stays as it is; a nil t is
// empty.
func NewColumnTrace(t *op.Trace) *ColumnTrace {
	c := &ColumnTrace{}
	if t == nil {
		return c
	}
	for i := range t.Entries {
		c.Add(&t.Entries[i])
	}
	c.TotalDuration = t.TotalDuration
	for key, value := range t.Metadata {
		c.WithMetadata(key, value)
	}
	return c
}

// WithMetadata sets a key of the metadata and returns t.
func (t *ColumnTrace) WithMetadata(key, value string) *ColumnTrace {
	if t.Metadata == nil {
		t.Metadata = make(map[string]string)
	}
	t.Metadata[key] = value
	return t
}

// Add appends an entry and adds its duration to the total. It keeps nothing of
// e but its strings.
func (t *ColumnTrace) Add(e *op.Entry) {
	if t.n == len(t.blocks)*blockRows {
		t.blocks = append(t.blocks, new(entryBlock))
	}
	b, i := t.at(t.n)
	b.pair[i] = t.pairs.number(e.Operation, e.DeviceID)
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
	t.TotalDuration = addSaturating(t.TotalDuration, e.Duration)
	t.n++
}

func (t *ColumnTrace) at(i int) (b *entryBlock, row int) {
	return t.blocks[i>>blockBits], i & (blockRows - 1)
}

// Entry returns the i-th entry, with what the trace keeps of it. Its shapes
// belong to the trace.
func (t *ColumnTrace) Entry(i int) op.Entry {
	b, k := t.at(i)
	p := t.pairs.pairs.values[b.pair[k]]
	shapes := t.shaped[b.shapes[k]]
	known := b.known[k]
	return op.Entry{
		Step:           op.Int{V: sparseAt(b.steps, k), Known: known&knownStep != 0},
		Operation:      t.pairs.operations.values[p.operation],
		DeviceID:       t.pairs.devices.values[p.device],
		InputShapes:    shapes.inputs,
		OutputShape:    shapes.output,
		Duration:       b.duration[k],
		OutputElements: op.Int{V: sparseAt(b.elements, k), Known: known&knownElements != 0},
		MemoryBytes:    op.Int{V: b.memory[k], Known: known&knownMemory != 0},
	}
}

// setSparse sets a value of a column that takes memory from the first value on.
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

// StepCount returns the number of entries.
func (t *ColumnTrace) StepCount() int { return t.n }

// TotalDurationUS returns the total duration in microseconds.
func (t *ColumnTrace) TotalDurationUS() float64 { return microseconds(t.TotalDuration) }

// TotalMemoryBytes returns the sum of the entries' memory.
func (t *ColumnTrace) TotalMemoryBytes() int64 {
	sum := int64(0)
	for k, b := range t.blocks {
		for _, bytes := range b.memory[:t.blockLen(k)] {
			sum = addSaturating(sum, bytes)
		}
	}
	return sum
}

// PeakMemoryBytes returns the largest memory of a single entry; 0 when there
// are none.
func (t *ColumnTrace) PeakMemoryBytes() int64 {
	peak := int64(0)
	for k, b := range t.blocks {
		for _, bytes := range b.memory[:t.blockLen(k)] {
			peak = max(peak, bytes)
		}
	}
	return peak
}

// MemoryHotspots returns the places of the entries with more than threshold
// bytes of memory, in order.
func (t *ColumnTrace) MemoryHotspots(threshold int64) []int {
	hotspots := []int{}
	for k, b := range t.blocks {
		for i, bytes := range b.memory[:t.blockLen(k)] {
			if bytes > threshold {
				hotspots = append(hotspots, k*blockRows+i)
			}
		}
	}
	return hotspots
}

// SlowestOps returns the places of the n entries of the longest duration,
// longest first and in order of appearance where durations are equal. It
// compares each duration with the shortest that is still wanted, which takes
// 0.6 ns an entry for small n.
func (t *ColumnTrace) SlowestOps(n int) []int {
	n = min(n, t.n)
	if n <= 0 {
		return []int{}
	}
	var longest []place
	lowest := int64(math.MinInt64) // that is wanted
	for k, b := range t.blocks {
		for i, d := range b.duration[:t.blockLen(k)] {
			if d < lowest {
				continue
			}
			longest = append(longest, place{k*blockRows + i, d})
			if len(longest) >= 2*n {
				longest = longestFirst(longest)[:n]
				lowest = addSaturating(longest[n-1].duration, 1)
			}
		}
	}
	places := make([]int, n)
	for i, p := range longestFirst(longest)[:n] {
		places[i] = p.index
	}
	return places
}

// place is where an entry stands, and how long it took.
type place struct {
	index    int
	duration int64
}

// longestFirst sorts places by duration, equal ones as they are.
func longestFirst(places []place) []place {
	slices.SortStableFunc(places, func(a, b place) int { return compareInt(b.duration, a.duration) })
	return places
}

// blockLen returns how many entries block k holds.
func (t *ColumnTrace) blockLen(k int) int { return min(blockRows, t.n-k*blockRows) }

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
