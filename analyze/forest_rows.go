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

// setNumbers sets dst to the numbers of the values of rows of a column.
func setNumbers[T any](dst []int64, n *codeNumbers, c *op.Column[T], list []int32, add func(T) int32) {
	for i, row := range list {
		code := c.Codes[row]
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

// addRows adds operations that stand in columns, and their work.
func (f *Forest) addRows(rows *op.Rows, works []work) {
	if f.found == nil {
		f.found = &numberFinder{devices: make(map[int32]int32)}
	}
	f.found.turnTo(rows.Columns, f.by)
	for list := rows.List; len(list) > 0; {
		room := min(len(list), f.limit-f.rows())
		if room <= 0 {
			f.counts.Overflow += int64(len(list))
			return
		}
		n := f.values.Extend(room)
		f.setRows(rows.Columns, list[:n], works[:n])
		f.addCollectives(rows.Columns, list[:n])
		f.values.Close()
		f.n += int32(n)
		f.counts.Ops += int64(n)
		list, works = list[n:], works[n:]
	}
	if f.built.Load() {
		f.built.Store(false)
	}
}

// setRows sets as many of the last rows, which are new and lie in one block, to rows of
// columns.
func (f *Forest) setRows(c *op.Columns, list []int32, works []work) {
	n := len(list)
	flags := f.newFacts(n)
	for i := range flags {
		flags[i] = flagOp
	}
	last := func(column int) []int64 { return f.values.Last(n, column) }
	setInts(last(colDuration), &c.Duration, list)
	setInts(last(colMemory), &c.MemoryBytes, list)
	setInts(last(colElements), &c.OutputElements, list)
	setInts(last(colStep), &c.Step, list)
	setInts(last(colLaunch), &c.Launch, list)
	setSpans(last(colSpan), &c.Span, list)
	setSpans(last(colParentID), &c.ParentSpan, list)
	setNumbers(last(colTrace), &f.found.traces, &c.Trace, list, f.dict.traces.ID)
	setNumbers(last(colName), &f.found.operations, &c.Operation, list, f.dict.operations.ID)
	f.setStarts(last(colStart), last(colDuration), flags, c, list)
	f.setLanes(last(colLane), c, list)
	if len(c.Root.Values) > 1 || len(c.RootSpan.Values) > 1 {
		f.setStamps(last(colStamp), last(colTrace), c, list)
	}
	if f.details {
		f.setShapes(last(colShape), c, list)
	}
	if len(f.by) > 0 {
		f.setGroups(last(colGroup), last(colVariety), c, list)
	}
	flops, moved, bounds := last(colFLOPs), last(colMoved), last(colBound)
	for i := range works {
		flops[i], moved[i] = works[i].columns()
		bounds[i] = works[i].bound
		flags[i] |= works[i].flags()
	}
	kinds := last(colKind)
	for i, row := range list {
		kind := c.Kind.At(int(row))
		kinds[i] = int64(kind)
		flags[i] |= f.flagsOf(c, int(row), kind)
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

func setInts(dst []int64, c *op.Column[op.Int], list []int32) {
	for i, row := range list {
		dst[i] = c.Values[c.Codes[row]].V
	}
}

func setSpans(dst []int64, c *op.Column[op.SpanID], list []int32) {
	for i, row := range list {
		dst[i] = int64(spanNumber(c.Values[c.Codes[row]]))
	}
}

// setStarts sets the starts that are possible.
func (f *Forest) setStarts(dst, durations []int64, flags []rowFlag, c *op.Columns, list []int32) {
	for i, row := range list {
		start := c.Start.At(int(row))
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

func (f *Forest) setLanes(dst []int64, c *op.Columns, list []int32) {
	var codes [maxKeyCodes]uint64
	for i, at := range list {
		row := int(at)
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

func (f *Forest) setStamps(dst, traces []int64, c *op.Columns, list []int32) {
	var codes [maxKeyCodes]uint64
	for i, at := range list {
		row := int(at)
		list := append(codes[:0], uint64(c.Trace.Codes[row]), uint64(c.Root.Codes[row]), uint64(c.RootSpan.Codes[row]))
		number, ok := f.found.stamps.slot(list)
		if !ok {
			*number = f.dict.stampOf(int32(traces[i]), c.Root.At(row), c.RootSpan.At(row))
		}
		dst[i] = int64(*number)
	}
}

func (f *Forest) setShapes(dst []int64, c *op.Columns, list []int32) {
	var codes [maxKeyCodes]uint64
	for i, at := range list {
		row := int(at)
		number, ok := f.found.shapes.slot(appendVarietyCodes(codes[:0], c, row))
		if !ok {
			e := varietyEntry(c, row)
			*number = f.dict.shapes.ID(shapeText(&e))
		}
		dst[i] = int64(*number)
	}
}

func (f *Forest) setGroups(groups, varieties []int64, c *op.Columns, list []int32) {
	var codes [maxKeyCodes]uint64
	for i, at := range list {
		row := int(at)
		group, ok := f.found.groups.slot(appendKeyCodes(append(codes[:0], 0), f.by, c, row))
		if !ok {
			e := keyEntry(f.by, c, row)
			f.scratch = appendKeys(f.scratch[:0], f.by, &e)
			*group = f.dict.groups.ID(f.scratch)
		}
		if groups[i] = int64(*group); !f.byRoot {
			continue
		}
		variety, ok := f.found.varieties.slot(appendVarietyCodes(codes[:0], c, row))
		if !ok {
			e := varietyEntry(c, row)
			f.scratch = appendVariety(f.scratch[:0], &e)
			*variety = f.dict.varieties.ID(f.scratch)
		}
		varieties[i] = int64(*variety)
	}
}

// addCollectives adds those of the last rows, which are rows of columns, that are
// collectives.
func (f *Forest) addCollectives(c *op.Columns, list []int32) {
	var codes [maxKeyCodes]uint64
	lanes := f.values.Last(len(list), colLane)
	for i, at := range list {
		row := int(at)
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
