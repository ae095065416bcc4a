package analyze

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/optrace/optrace/analyze/internal/packed"
)

// Merge adds the operations and spans of other, as if they had been added after
// those of f. other does not change.
func (f *Forest) Merge(other *Forest) {
	added := &mergeSource{columns: other.columns, collected: &other.collected, links: other.links, dict: &other.dict, runs: other.runs}
	sources := []*mergeSource{added}
	lost := other.counts
	if first := inputOrder(sources); len(first) > 0 && first[0].part < f.runs.last() {
		lost.addLasting(&f.counts)
		sources = []*mergeSource{f.takeAll(), added}
	}
	f.mergeSources(sources)
	f.counts.addLasting(&lost)
}

// take merges others, which are empty afterwards, into f. The rows of all are
// packed once more, and each block is freed when its rows have been read, so that
// little more than the rows is in use at any time.
func (f *Forest) take(others []*Forest) {
	lost := f.counts
	sources := []*mergeSource{f.takeAll()}
	for _, o := range others {
		lost.addLasting(&o.counts)
		sources = append(sources, o.takeAll())
	}
	f.mergeSources(sources)
	f.counts.addLasting(&lost)
}

// addLasting adds what rows do not tell.
func (c *counts) addLasting(o *counts) {
	c.BadTimes += o.BadTimes
	c.Overflow += o.Overflow
	c.Clocked += o.Clocked
	c.ClockError = max(c.ClockError, o.ClockError)
}

// takeAll moves the content of f to a source and leaves f empty.
func (f *Forest) takeAll() *mergeSource {
	dict, collected := f.dict, f.collected
	dict.release()
	s := &mergeSource{
		columns: f.columns, collected: &collected, links: f.links, dict: &dict, runs: f.runs,
		owned: true, unread: make([]int32, f.values.Blocks()),
	}
	f.columns, f.dict, f.collected, f.runs, f.counts = newColumns(), newDictionary(), newCollectives(), nil, counts{}
	f.links = nil
	f.built.Store(false)
	return s
}

// mergeSource is the content of a Forest that is being merged.
type mergeSource struct {
	columns
	collected *collectives
	links     []rowLink
	dict      *dictionary
	runs      partRuns

	numbers *renumbering
	// names and devices renumber the collectives.
	names   numbering[collectiveName]
	devices numbering[DeviceKey]

	// owned reports whether the blocks may be freed. Block b is freed once
	// unread[b], the number of its rows that were not read, is 0.
	owned   bool
	reading sync.Mutex
	unread  []int32

	collective []int64 // as they are read

	// parent returns the parent id of a row in place of its own; nil where each row
	// keeps its own.
	parent func(r int32) uint64
}

// wereRead counts n rows of a block as read, and frees the block for other rows where those
// were the last ones.
func (s *mergeSource) wereRead(block, n int32, others *packed.Table) {
	if !s.owned {
		return
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.unread[block] -= n; s.unread[block] == 0 {
		s.values.Drop(int(block), others)
		s.facts[block] = nil
	}
}

// renumber makes s tell which numbers its values have in f.
func (s *mergeSource) renumber(f *Forest) {
	s.numbers = f.dict.numberingOf(s.dict)
	s.names = newNumbering(s.collected.names.Values, f.collected.names.ID)
	s.devices = newNumbering(s.collected.devices.Values, f.collected.devices.ID)
}

// mergeSources appends the rows of the sources in input order.
func (f *Forest) mergeSources(sources []*mergeSource) {
	for _, s := range sources {
		s.renumber(f)
		for b := range s.unread {
			s.unread[b] = min(packed.BlockRows, s.n-int32(b)*packed.BlockRows)
		}
	}
	f.appendRuns(inputOrder(sources), runtime.GOMAXPROCS(0))
	f.values.Clip()
	f.built.Store(false)
}

// appendRuns appends the rows of runs as far as there is room for them, in up to the given
// number of goroutines.
func (f *Forest) appendRuns(runs []sourceRun, workers int) {
	at := f.n
	for i := range runs {
		r := &runs[i]
		f.runs.start(run{part: r.part, row: at, collective: int32(f.collected.entries.Rows())})
		if room := int32(f.limit) - at; r.end-r.row > room {
			f.counts.Overflow += int64(r.end - r.row - room)
			r.end = r.row + room
			r.lastCollective = r.collective + r.source.collectives(r.row, r.end)
		}
		f.appendLinks(*r, at)
		r.source.number(r.row, r.end)
		f.appendCollectives(*r)
		at += r.end - r.row
	}
	f.appendRows(runs, at, workers)
}

// number gives the values of the rows from the first up to, and without, the end their new
// numbers, in the order of the rows.
func (s *mergeSource) number(first, end int32) {
	var buffer [packed.BlockRows]int64
	n := s.numbers
	for first < end {
		block, at := int(first/packed.BlockRows), int(first%packed.BlockRows)
		rows := buffer[:min(int(end-first), packed.BlockRows-at)]
		read := func(column int) []int64 {
			s.values.Read(rows, block, at, column)
			return rows
		}
		numberAll(&n.traces, colTrace, read)
		numberAll(&n.lanes, colLane, read)
		numberAll(&n.stamps, colStamp, read)
		numberAll(&n.varieties, colVariety, read)
		numberAll(&n.shapes, colShape, read)
		if len(s.groups) == 0 {
			numberAll(&n.groups, colGroup, read)
		} else {
			for i := range rows {
				n.groups.number(s.group(first + int32(i)))
			}
		}
		if n.operations.left > 0 || n.spans.left > 0 {
			for i, v := range read(colName) {
				if s.has(first+int32(i), flagOp) {
					n.operations.number(int32(v))
				} else {
					n.spans.number(int32(v))
				}
			}
		}
		first += int32(len(rows))
	}
}

// numberAll gives the values of a column of rows their new numbers, unless all have one.
func numberAll[K comparable](by *numbering[K], column int, read func(column int) []int64) {
	if by.left == 0 {
		return
	}
	for _, v := range read(column) {
		by.number(int32(v))
	}
}

// collectives returns how many of the rows from the first up to, and without, the end are
// collectives.
func (s *mergeSource) collectives(first, end int32) (count int32) {
	for r := first; r < end; r++ {
		if s.isCollective(r) {
			count++
		}
	}
	return count
}

// appendCollectives appends the collectives of a run.
func (f *Forest) appendCollectives(r sourceRun) {
	for i := r.collective; i < r.lastCollective; i++ {
		r.source.collective = r.source.collected.entries.AppendRow(r.source.collective[:0], i)
		e := r.source.collective
		e[collectiveNameID] = int64(r.source.names.number(int32(e[collectiveNameID])))
		e[collectiveDeviceID] = int64(r.source.devices.number(int32(e[collectiveDeviceID])))
		f.collected.entries.Append(e)
	}
}

// appendLinks appends the links of a run whose rows are appended from at on.
func (f *Forest) appendLinks(r sourceRun, at int32) {
	links := r.source.links
	first, _ := linksOf(links, r.row)
	for _, l := range links[first:] {
		if l.row >= r.end {
			break
		}
		l.row += at - r.row
		l.trace = r.source.numbers.traces.number(l.trace)
		f.links = append(f.links, l)
	}
}

// appendRows appends the rows of runs, which make n rows together with those that are
// there. Each goroutine packs blocks that follow each other.
func (f *Forest) appendRows(runs []sourceRun, n int32, workers int) {
	share := n - f.n
	if f.n%packed.BlockRows == 0 && workers > 1 {
		blocks := (int(share) + packed.BlockRows - 1) / packed.BlockRows
		share = int32((blocks + workers - 1) / workers * packed.BlockRows)
	}
	var all []*merger
	var group sync.WaitGroup
	for from := f.n; from < n; from += min(share, n-from) {
		m := &merger{columns: newColumns()}
		if len(all) == 0 {
			m.columns = f.columns
		}
		all = append(all, m)
		first, end := from-f.n, from-f.n+min(share, n-from)
		group.Go(func() { m.append(runs, first, end) })
	}
	group.Wait()
	for i, m := range all {
		if i == 0 {
			f.columns = m.columns
		} else {
			f.columns.join(&m.columns)
		}
		f.counts.Ops += m.ops
		f.counts.Spans += m.spans
	}
}

// merger appends rows of sources to columns.
type merger struct {
	columns
	ops, spans int64
}

// append appends those rows of runs that are, in the order of the runs, the first up to,
// and without, the end.
func (m *merger) append(runs []sourceRun, first, end int32) {
	for _, r := range runs {
		rows := r.end - r.row
		if first < rows && end > 0 {
			m.appendRows(r.source, r.row+max(first, 0), r.row+min(end, rows))
		}
		first, end = first-rows, end-rows
	}
}

// appendRows appends the rows of s from the first up to, and without, the end.
func (m *merger) appendRows(s *mergeSource, first, end int32) {
	for first < end {
		block, at := first/packed.BlockRows, first%packed.BlockRows
		n := m.values.Extend(int(min(end-first, packed.BlockRows-at)))
		for c := range numColumns {
			s.values.Read(m.values.Last(n, c), int(block), int(at), c)
		}
		m.setFacts(s, first, n)
		m.renumber(s, first, n)
		m.values.Close()
		m.n += int32(n)
		first += int32(n)
		s.wereRead(block, int32(n), &m.values)
	}
}

// setFacts sets the flags of the last n rows, which s has from the first on, and counts
// them.
func (m *merger) setFacts(s *mergeSource, first int32, n int) {
	facts := m.newFacts(n)
	for i := range facts {
		flags := s.flags(first+int32(i)) &^ builtFlags
		facts[i] = flags
		if flags&flagOp == 0 {
			m.spans++
		} else {
			m.ops++
		}
	}
}

// renumber gives the last n rows, which s has from the first on, the numbers that their
// values have in the Forest.
func (m *merger) renumber(s *mergeSource, first int32, n int) {
	last := func(column int) []int64 { return m.values.Last(n, column) }
	renumberAll(last(colTrace), &s.numbers.traces)
	renumberAll(last(colLane), &s.numbers.lanes)
	renumberAll(last(colStamp), &s.numbers.stamps)
	renumberAll(last(colVariety), &s.numbers.varieties)
	renumberAll(last(colShape), &s.numbers.shapes)
	groups, names, parents := last(colGroup), last(colName), last(colParentID)
	for i := range groups {
		r := first + int32(i)
		if len(s.groups) > 0 {
			groups[i] = int64(s.group(r))
		}
		if s.has(r, flagOp) {
			names[i] = int64(s.numbers.operations.number(int32(names[i])))
		} else {
			names[i] = int64(s.numbers.spans.number(int32(names[i])))
		}
		if s.parent != nil {
			parents[i] = int64(s.parent(r))
		}
	}
	renumberAll(groups, &s.numbers.groups)
}

// renumberAll replaces old numbers by the new ones.
func renumberAll[K comparable](values []int64, by *numbering[K]) {
	for i, v := range values {
		values[i] = int64(by.number(int32(v)))
	}
}

// run is a number of rows that were added one after the other from one part
// of the input.
type run struct {
	part int64
	// row and collective are the first of the run's rows and of the collectives
	// among them.
	row, collective int32
}

// partRuns lists which rows of a Forest belong to which part. It is empty as long
// as everything belongs to part 0.
type partRuns []run

// start begins a run at the place that next names.
func (c *partRuns) start(next run) {
	runs := *c
	last := len(runs) - 1
	switch {
	case next.part == runs.last():
		return
	case last >= 0 && runs[last].row == next.row: // nothing was added to it
		runs[last] = next
		return
	case last < 0 && next.row > 0:
		runs = append(runs, run{})
	}
	*c = append(runs, next)
}

// last returns the part to which rows are being added.
func (c partRuns) last() int64 {
	if len(c) == 0 {
		return 0
	}
	return c[len(c)-1].part
}

// sourceRun is a run of one of the traces that are merged.
type sourceRun struct {
	run
	source *mergeSource
	end    int32 // the row behind the last one
	// lastCollective is the collective behind the last one.
	lastCollective int32
}

// inputOrder returns the runs of all sources by part, those of the same part
// in the order of the sources.
func inputOrder(sources []*mergeSource) []sourceRun {
	var all []sourceRun
	for _, s := range sources {
		runs := s.runs
		if len(runs) == 0 {
			runs = partRuns{{}}
		}
		for i, r := range runs {
			end, collective := s.n, int32(s.collected.entries.Rows())
			if i+1 < len(runs) {
				end, collective = runs[i+1].row, runs[i+1].collective
			}
			if r.row < end {
				all = append(all, sourceRun{run: r, source: s, end: end, lastCollective: collective})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b sourceRun) int { return cmp.Compare(a.part, b.part) })
	return all
}

// newFacts returns the flags of the n rows behind the others, which lie in one block.
func (c *columns) newFacts(n int) []rowFlag {
	b, i := int(c.n/packed.BlockRows), int(c.n%packed.BlockRows)
	if b == len(c.facts) {
		c.facts = append(c.facts, new([packed.BlockRows]rowFlag))
	}
	return c.facts[b][i : i+n]
}
