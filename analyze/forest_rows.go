package analyze

import (
	"github.com/optrace/optrace/analyze/internal/packed"
	"github.com/optrace/optrace/op"
)

// numberFinder finds the numbers that a Forest has for the values of columns, which it
// looks up once per code.
type numberFinder struct {
	traces, operations codeNumbers

	lanesOf, stampsOf, groupsOf, varietiesOf, collectivesOf columnVersions

	lanes, stamps, groups, varieties, shapes codeCache[int32]
	collectives                              codeCache[collectiveOf]
	// devices are the numbers that collectives have for the devices of lanes.
	devices map[int32]int32
}

// codeNumbers are the numbers of the values of one column, by code.
type codeNumbers struct {
	of      *op.Columns
	version int64
	numbers []int32 // 1 more than the number; 0 for one that was not looked up
}

// turnTo forgets the numbers of other codes than those of a column of c.
func (n *codeNumbers) turnTo(c *op.Columns, version int64, values int) {
	if n.of != c || n.version != version {
		n.of, n.version = c, version
		clear(n.numbers)
	}
	if more := values - len(n.numbers); more > 0 {
		n.numbers = append(n.numbers, make([]int32, more)...)
	}
}

// setNumbers sets dst to the numbers of the values of rows of a column, the first of which
// is given.
func setNumbers[T any](dst []int64, n *codeNumbers, c *op.Column[T], first int, add func(T) int32) {
	for i, code := range c.Codes[first : first+len(dst)] {
		number := n.numbers[code]
		if number == 0 {
			number = add(c.Values[code]) + 1
			n.numbers[code] = number
		}
		dst[i] = int64(number - 1)
	}
}

// turnTo forgets what it knows of other codes.
func (f *numberFinder) turnTo(c *op.Columns, by []Key) {
	f.traces.turnTo(c, c.Trace.Version, len(c.Trace.Values))
	f.operations.turnTo(c, c.Operation.Version, len(c.Operation.Values))
	if f.lanesOf.turnTo(c, c.DeviceID.Version, c.Service.Version) {
		f.lanes.clear()
	}
	if f.stampsOf.turnTo(c, c.Trace.Version, c.Root.Version, c.RootSpan.Version) {
		f.stamps.clear()
	}
	v := varietyVersions(c)
	if f.varietiesOf.turnTo(c, v[:]...) {
		f.varieties.clear()
		f.shapes.clear()
	}
	if f.collectivesOf.turnTo(c, c.Operation.Version, c.Collective.Version, c.DType.Version) {
		f.collectives.clear()
	}
	if len(by) > 0 && f.groupsOf.turnTo(c, append(appendKeyVersions(nil, by, c), v[:]...)...) {
		f.groups.clear()
	}
}

// addRows adds operations that stand in columns.
func (f *Forest) addRows(rows *op.Rows) {
	if f.found == nil {
		f.found = &numberFinder{devices: make(map[int32]int32)}
	}
	f.found.turnTo(rows.Columns, f.by)
	for first := rows.From; first < rows.To; {
		room := min(rows.To-first, f.limit-f.rows())
		if room <= 0 {
			f.counts.Overflow += int64(rows.To - first)
			return
		}
		n := f.values.Extend(room)
		f.setRows(rows.Columns, first, n)
		f.addCollectives(rows.Columns, first, n)
		f.values.Close()
		f.n += int32(n)
		f.counts.Ops += int64(n)
		first += n
	}
	if f.built.Load() {
		f.built.Store(false)
	}
}

// setRows sets the last n rows, which are new and lie in one block, to rows of columns, the
// first of which is given.
func (f *Forest) setRows(c *op.Columns, first, n int) {
	flags := f.newFacts(n)
	for i := range flags {
		flags[i] = flagOp
	}
	last := func(column int) []int64 { return f.values.Last(n, column) }
	setInts(last(colDuration), &c.Duration, first)
	setInts(last(colMemory), &c.MemoryBytes, first)
	setInts(last(colElements), &c.OutputElements, first)
	setInts(last(colFLOPs), &c.FLOPs, first)
	setInts(last(colStep), &c.Step, first)
	setInts(last(colLaunch), &c.Launch, first)
	setSpans(last(colSpan), &c.Span, first)
	setSpans(last(colParentID), &c.ParentSpan, first)
	setNumbers(last(colTrace), &f.found.traces, &c.Trace, first, f.dict.traces.ID)
	setNumbers(last(colName), &f.found.operations, &c.Operation, first, f.dict.operations.ID)
	f.setStarts(last(colStart), last(colDuration), flags, c, first)
	f.setLanes(last(colLane), c, first)
	if len(c.Root.Values) > 1 || len(c.RootSpan.Values) > 1 {
		f.setStamps(last(colStamp), last(colTrace), c, first)
	}
	if f.details {
		f.setShapes(last(colShape), c, first)
	}
	if len(f.by) > 0 {
		f.setGroups(last(colGroup), last(colVariety), c, first)
	}
	kinds := last(colKind)
	for i := range flags {
		kind := c.Kind.At(first + i)
		kinds[i] = int64(kind)
		flags[i] |= f.flagsOf(c, first+i, kind)
	}
}

// flagsOf returns what is to be known of a row, but for its start.
func (f *Forest) flagsOf(c *op.Columns, row int, kind op.Kind) (flags rowFlag) {
	if c.MemoryBytes.At(row).Known {
		flags |= flagMemory
	}
	if c.Step.At(row).Known {
		flags |= flagStep
	}
	if c.Launch.At(row).Known {
		flags |= flagLaunch
	}
	if c.Failed.At(row) {
		flags |= flagFailed
	}
	if c.Side.At(row) == op.SideHost {
		flags |= flagHost
	}
	if kind == op.KindCollective { // only their sums tell rules apart
		flags |= rowFlag(c.KindRule(row)) << ruleShift
	}
	return flags
}

func setInts(dst []int64, c *op.Column[op.Int], first int) {
	for i, code := range c.Codes[first : first+len(dst)] {
		dst[i] = c.Values[code].V
	}
}

func setSpans(dst []int64, c *op.Column[op.SpanID], first int) {
	for i, code := range c.Codes[first : first+len(dst)] {
		dst[i] = int64(spanNumber(c.Values[code]))
	}
}

// setStarts sets the starts that are possible.
func (f *Forest) setStarts(dst, durations []int64, flags []rowFlag, c *op.Columns, first int) {
	for i := range dst {
		start := c.Start.At(first + i)
		if !start.Known {
			continue
		}
		if dst[i] = start.V; !isTime(start.V, durations[i]) {
			dst[i] = 0
			f.counts.BadTimes++
			continue
		}
		flags[i] |= flagStart
	}
}

func (f *Forest) setLanes(dst []int64, c *op.Columns, first int) {
	var codes [maxKeyCodes]uint64
	for i := range dst {
		row := first + i
		list := append(codes[:0], uint64(c.DeviceID.Codes[row]), uint64(c.Service.Codes[row]))
		number, ok := f.found.lanes.slot(appendIntCode(appendIntCode(list, c.Rank.At(row)), c.Stream.At(row)))
		if !ok {
			*number = f.dict.laneOf(&op.Entry{
				DeviceID: c.DeviceID.At(row), Service: c.Service.At(row), Rank: c.Rank.At(row), Stream: c.Stream.At(row),
			})
		}
		dst[i] = int64(*number)
	}
}

func (f *Forest) setStamps(dst, traces []int64, c *op.Columns, first int) {
	var codes [maxKeyCodes]uint64
	for i := range dst {
		row := first + i
		list := append(codes[:0], uint64(c.Trace.Codes[row]), uint64(c.Root.Codes[row]), uint64(c.RootSpan.Codes[row]))
		number, ok := f.found.stamps.slot(list)
		if !ok {
			*number = f.dict.stampOf(int32(traces[i]), c.Root.At(row), c.RootSpan.At(row))
		}
		dst[i] = int64(*number)
	}
}

func (f *Forest) setShapes(dst []int64, c *op.Columns, first int) {
	var codes [maxKeyCodes]uint64
	for i := range dst {
		number, ok := f.found.shapes.slot(appendVarietyCodes(codes[:0], c, first+i))
		if !ok {
			e := varietyEntry(c, first+i)
			*number = f.dict.shapes.ID(shapeText(&e))
		}
		dst[i] = int64(*number)
	}
}

func (f *Forest) setGroups(groups, varieties []int64, c *op.Columns, first int) {
	var codes [maxKeyCodes]uint64
	for i := range groups {
		group, ok := f.found.groups.slot(appendKeyCodes(append(codes[:0], 0), f.by, c, first+i))
		if !ok {
			e := keyEntry(f.by, c, first+i)
			f.scratch = appendKeys(f.scratch[:0], f.by, &e)
			*group = f.dict.groups.ID(f.scratch)
		}
		if groups[i] = int64(*group); !f.byRoot {
			continue
		}
		variety, ok := f.found.varieties.slot(appendVarietyCodes(codes[:0], c, first+i))
		if !ok {
			e := varietyEntry(c, first+i)
			f.scratch = appendVariety(f.scratch[:0], &e)
			*variety = f.dict.varieties.ID(f.scratch)
		}
		varieties[i] = int64(*variety)
	}
}

// addCollectives adds those of the last n rows that are collectives. The first row of
// columns is given.
func (f *Forest) addCollectives(c *op.Columns, first, n int) {
	var codes [maxKeyCodes]uint64
	lanes := f.values.Last(n, colLane)
	for i := range n {
		row := first + i
		if c.Kind.At(row) != op.KindCollective || c.Side.At(row) == op.SideHost {
			continue
		}
		list := append(codes[:0], uint64(c.Operation.Codes[row]), uint64(c.Collective.Codes[row]), uint64(c.DType.Codes[row]))
		of, ok := f.found.collectives.slot(list)
		if !ok {
			*of = f.collected.describe(c.Operation.At(row), c.Collective.At(row), c.DType.At(row))
		}
		device, ok := f.found.devices[int32(lanes[i])]
		if !ok {
			device = f.collected.devices.ID(f.dict.lanes.Values[lanes[i]].device)
			f.found.devices[int32(lanes[i])] = device
		}
		f.collected.append(*of, device, c.Start.At(row), c.Duration.At(row).V, c.MemoryBytes.At(row))
	}
}

// newFacts returns the flags of the n rows behind the others, which lie in one block.
func (c *columns) newFacts(n int) []rowFlag {
	b, i := int(c.n/packed.BlockRows), int(c.n%packed.BlockRows)
	if b == len(c.facts) {
		c.facts = append(c.facts, new([packed.BlockRows]rowFlag))
	}
	return c.facts[b][i : i+n]
}
