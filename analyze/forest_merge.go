package analyze

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/packed"
	"github.com/optrace/optrace/op"
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
	f.links, f.found = nil, nil
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
	owned  bool
	unread []int32

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

// merger appends the rows of sources to a Forest.
type merger struct{ *Forest }

// mergeSources appends the rows of the sources in input order.
func (f *Forest) mergeSources(sources []*mergeSource) {
	m := merger{Forest: f}
	for _, s := range sources {
		s.renumber(f)
		for b := range s.unread {
			s.unread[b] = min(packed.BlockRows, s.n-int32(b)*packed.BlockRows)
		}
	}
	for _, r := range inputOrder(sources) {
		f.startPart(r.part)
		m.appendRun(r)
	}
	f.values.Clip()
	f.built.Store(false)
}

// appendRun appends the rows of r as far as there is room for them.
func (m *merger) appendRun(r sourceRun) {
	room := min(int(r.end-r.row), m.limit-m.rows())
	m.counts.Overflow += int64(r.end-r.row) - int64(room)
	m.appendLinks(r, int32(room))
	collectives := m.appendRows(r.source, r.row, r.row+int32(room))
	for i := r.collective; i < r.collective+collectives; i++ {
		r.source.collective = r.source.collected.entries.AppendRow(r.source.collective[:0], i)
		e := r.source.collective
		e[collectiveNameID] = int64(r.source.names.number(int32(e[collectiveNameID])))
		e[collectiveDeviceID] = int64(r.source.devices.number(int32(e[collectiveDeviceID])))
		m.collected.entries.Append(e)
	}
}

// appendLinks appends the links of the first rows of r, as many as are given, which
// are about to be appended.
func (m *merger) appendLinks(r sourceRun, rows int32) {
	links := r.source.links
	first, _ := linksOf(links, r.row)
	for _, l := range links[first:] {
		if l.row >= r.row+rows {
			break
		}
		l.row += m.n - r.row
		l.trace = r.source.numbers.traces.number(l.trace)
		m.links = append(m.links, l)
	}
}

// appendRows appends the rows of s from the first up to, and without, the end, and returns
// how many of them are collectives.
func (m *merger) appendRows(s *mergeSource, first, end int32) (collectives int32) {
	for first < end {
		block, at := first/packed.BlockRows, first%packed.BlockRows
		n := m.values.Extend(int(min(end-first, packed.BlockRows-at)))
		for c := range numColumns {
			s.values.Read(m.values.Last(n, c), int(block), int(at), c)
		}
		collectives += m.setFacts(s, first, n)
		m.renumber(s, first, n)
		m.values.Close()
		m.n += int32(n)
		first += int32(n)
		s.wereRead(block, int32(n), &m.values)
	}
	return collectives
}

// setFacts sets the flags of the last n rows, which s has from the first on, and counts
// them. It returns how many are collectives.
func (m *merger) setFacts(s *mergeSource, first int32, n int) (collectives int32) {
	kinds := m.values.Last(n, colKind)
	facts := m.newFacts(n)
	for i := range facts {
		flags := s.flags(first+int32(i)) &^ builtFlags
		facts[i] = flags
		if flags&flagOp == 0 {
			m.counts.Spans++
			continue
		}
		m.counts.Ops++
		if flags&flagHost == 0 && op.Kind(kinds[i]) == op.KindCollective {
			collectives++
		}
	}
	return collectives
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
			end := s.n
			if i+1 < len(runs) {
				end = runs[i+1].row
			}
			if r.row < end {
				all = append(all, sourceRun{run: r, source: s, end: end})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b sourceRun) int { return cmp.Compare(a.part, b.part) })
	return all
}
