package analyze

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/op"
)

// Merge adds the operations and spans of other, as if they had been added after
// those of f. other does not change.
func (f *Forest) Merge(other *Forest) {
	added := &mergeSource{columns: other.columns, collected: &other.collected, links: other.links, dict: &other.dict, runs: other.runs}
	sources := []*mergeSource{added}
	lost := other.counts
	if first := inputOrder(sources); len(first) > 0 && first[0].part < f.runs.last() {
		lost.BadTimes += f.counts.BadTimes
		lost.Overflow += f.counts.Overflow
		sources = []*mergeSource{f.takeAll(), added}
	}
	f.mergeSources(sources)
	f.counts.BadTimes += lost.BadTimes
	f.counts.Overflow += lost.Overflow
}

// take merges others, which are empty afterwards, into f. The rows of all are
// copied once, block by block into blocks that were copied before, so that it
// needs the memory of a few blocks and of the dictionaries.
func (f *Forest) take(others []*Forest) {
	lost := f.counts
	sources := []*mergeSource{f.takeAll()}
	for _, o := range others {
		lost.BadTimes += o.counts.BadTimes
		lost.Overflow += o.counts.Overflow
		sources = append(sources, o.takeAll())
	}
	f.mergeSources(sources)
	f.counts.BadTimes += lost.BadTimes
	f.counts.Overflow += lost.Overflow
}

// takeAll moves the content of f to a source and leaves f empty.
func (f *Forest) takeAll() *mergeSource {
	dict, collected := f.dict, f.collected
	dict.release()
	s := &mergeSource{
		columns: f.columns, collected: &collected, links: f.links, dict: &dict, runs: f.runs,
		owned: true, unread: make([]int32, len(f.blocks)),
	}
	f.columns, f.dict, f.collected, f.runs, f.counts = columns{}, newDictionary(), collectives{}, nil, counts{}
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

	// owned reports whether the blocks may be reused. Block b is reused once
	// unread[b], the number of its rows that were not read, is 0.
	owned  bool
	unread []int32
}

// renumber makes s tell which numbers its values have in f.
func (s *mergeSource) renumber(f *Forest) {
	s.numbers = f.dict.numberingOf(s.dict)
	s.names = newNumbering(s.collected.names.Values, f.collected.names.ID)
	s.devices = newNumbering(s.collected.devices.Values, f.collected.devices.ID)
}

// merger appends the rows of sources to a Forest.
type merger struct {
	*Forest
	blocks spare[block]
	words  spare[[blockRows]int64]
	marks  spare[[blockRows]int32]
}

// mergeSources appends the rows of the sources in input order.
func (f *Forest) mergeSources(sources []*mergeSource) {
	m := merger{Forest: f}
	entries := len(f.collected.entries)
	for _, s := range sources {
		s.renumber(f)
		for b := range s.unread {
			s.unread[b] = min(blockRows, s.n-int32(b)*blockRows)
		}
		entries += len(s.collected.entries)
	}
	if len(sources) > 1 {
		f.collected.entries = append(make([]collectiveEntry, 0, entries), f.collected.entries...)
	}
	for _, r := range inputOrder(sources) {
		f.startPart(r.part)
		m.appendRun(r)
	}
	f.built.Store(false)
}

// appendRun appends the rows of r as far as there is room for them.
func (m *merger) appendRun(r sourceRun) {
	room := min(int(r.end-r.row), m.limit-m.rows())
	m.counts.Overflow += int64(r.end-r.row) - int64(room)
	m.appendLinks(r, int32(room))
	collectives := int32(0)
	for at, end := r.row, r.row+int32(room); at < end; {
		if int(m.n) == len(m.columns.blocks)*blockRows {
			m.columns.blocks = append(m.columns.blocks, m.blocks.get())
		}
		i, j := at%blockRows, m.n%blockRows
		n := min(end-at, blockRows-i, blockRows-j)
		collectives += m.appendRows(r.source, at, n)
		m.recycle(r.source, at>>blockBits, n)
		at += n
	}
	for _, e := range r.source.collected.entries[r.collective : r.collective+collectives] {
		e.name, e.device = r.source.names.number(e.name), r.source.devices.number(e.device)
		m.collected.entries = append(m.collected.entries, e)
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

// appendRows appends n rows, which lie in one block there and here, and returns
// how many of them are collectives.
func (m *merger) appendRows(s *mergeSource, at, n int32) (collectives int32) {
	from, i := s.at(at)
	to, j := m.at(m.n)
	copy(to.start[j:j+n], from.start[i:i+n])
	copy(to.duration[j:j+n], from.duration[i:i+n])
	copy(to.span[j:j+n], from.span[i:i+n])
	copy(to.parentID[j:j+n], from.parentID[i:i+n])
	copy(to.kind[j:j+n], from.kind[i:i+n])
	ops := int32(0)
	for k := range n {
		flags := from.flags[i+k] &^ builtFlags
		to.flags[j+k] = flags
		to.trace[j+k] = s.numbers.traces.number(from.trace[i+k])
		to.lane[j+k] = s.numbers.lanes.number(from.lane[i+k])
		name := from.name[i+k]
		if flags&flagOp == 0 {
			to.name[j+k] = s.numbers.spans.number(name)
			continue
		}
		to.name[j+k] = s.numbers.operations.number(name)
		ops++
		if flags&flagHost == 0 && from.kind[i+k] == op.KindCollective {
			collectives++
		}
	}
	m.counts.Ops += int64(ops)
	m.counts.Spans += int64(n - ops)

	m.steps.copyRows(m.n, &s.steps, at, n, &m.words)
	m.memories.copyRows(m.n, &s.memories, at, n, &m.words)
	m.launches.copyRows(m.n, &s.launches, at, n, &m.words)
	for k, number := range m.stamps.copyRows(m.n, &s.stamps, at, n, &m.marks) {
		m.stamps.set(m.n+int32(k), s.numbers.stamps.number(number))
	}
	m.elements.copyRows(m.n, &s.elements, at, n, &m.words)
	m.flops.copyRows(m.n, &s.flops, at, n, &m.words)
	m.weights.copyRows(m.n, &s.weights, at, n, &m.words)
	for k, number := range m.groups.copyRows(m.n, &s.groups, at, n, &m.marks) {
		m.groups.set(m.n+int32(k), s.numbers.groups.number(number))
	}
	for k, number := range m.varieties.copyRows(m.n, &s.varieties, at, n, &m.marks) {
		m.varieties.set(m.n+int32(k), s.numbers.varieties.number(number))
	}
	for k, number := range m.shapes.copyRows(m.n, &s.shapes, at, n, &m.marks) {
		m.shapes.set(m.n+int32(k), s.numbers.shapes.number(number))
	}
	m.n += n
	return collectives
}

// recycle counts n rows of a block of s as read, and takes the block once all
// of them are.
func (m *merger) recycle(s *mergeSource, b, n int32) {
	if !s.owned {
		return
	}
	if s.unread[b] -= n; s.unread[b] > 0 {
		return
	}
	m.blocks.put(s.blocks[b])
	s.blocks[b] = nil
	m.words.put(s.steps.remove(b))
	m.words.put(s.memories.remove(b))
	m.words.put(s.launches.remove(b))
	m.marks.put(s.stamps.remove(b))
	m.words.put(s.elements.remove(b))
	m.words.put(s.flops.remove(b))
	m.words.put(s.weights.remove(b))
	m.marks.put(s.groups.remove(b))
	m.marks.put(s.varieties.remove(b))
	m.marks.put(s.shapes.remove(b))
}

// spare keeps blocks that are no longer used.
type spare[T any] []*T

// get returns a block, in which anything may be.
func (s *spare[T]) get() *T {
	last := len(*s) - 1
	if last < 0 {
		return new(T)
	}
	b := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return b
}

// put keeps b, which may be nil.
func (s *spare[T]) put(b *T) {
	if b != nil {
		*s = append(*s, b)
	}
}

// remove takes block b, nil where it has no value.
func (c *optional[T]) remove(b int32) *[blockRows]T {
	if int(b) >= len(c.blocks) {
		return nil
	}
	removed := c.blocks[b]
	c.blocks[b] = nil
	return removed
}

// copyRows gives the n rows from at on the values that the rows of other from
// from on have. The rows lie in one block there and here. It returns the values,
// nil where they are all zero.
func (c *optional[T]) copyRows(at int32, other *optional[T], from, n int32, free *spare[[blockRows]T]) []T {
	j := at & (blockRows - 1)
	b := int(at >> blockBits)
	source := other.block(from)
	if source == nil {
		return nil // new rows are zero
	}
	for b >= len(c.blocks) {
		c.blocks = append(c.blocks, nil)
	}
	if c.blocks[b] == nil {
		c.blocks[b] = free.get()
		clear(c.blocks[b][:])
	}
	i := from & (blockRows - 1)
	values := c.blocks[b][j : j+n]
	copy(values, source[i:i+n])
	return values
}

// block returns the block that row r lies in, nil where it has no value.
func (c *optional[T]) block(r int32) *[blockRows]T {
	if b := int(r >> blockBits); b < len(c.blocks) {
		return c.blocks[b]
	}
	return nil
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
