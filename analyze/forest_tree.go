package analyze

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/parallel"
)

// tree says which row is below which. Its slices take 12 bytes per row.
type tree struct {
	parent []int32 // noRow for roots and duplicates
	// The children of row r are kids[first[r]:first[r+1]], the last to end first.
	first []int32
	kids  []int32
	// roots holds the rows without a parent, grouped by trace, within one the
	// last to end first.
	roots []int32
	// originals has the row with the same ids for each duplicate; nil without any.
	originals []int32
	// cut holds the rows at which rings of parents were cut.
	cut []int32
	// stampRow holds the row of each stamp's root, noRow when it was not read.
	stampRow []int32
	// target holds the row that each link leads to, noRow when it was not read.
	target []int32
}

// children returns the rows directly below r, the last to end first.
func (t *tree) children(r int32) []int32 { return t.kids[t.first[r]:t.first[r+1]] }

// buildTree joins rows to their parents by trace and span id, and orders what ran on
// each device.
//
// A parent that was not read makes an operation an orphan, which becomes a root.
// A duplicate gets no place in the tree. Every other row is in it exactly once,
// whatever the input says.
func (f *Forest) buildTree() {
	f.counts.Orphans, f.counts.Duplicates, f.counts.Repeated, f.counts.Cycles, f.counts.MissingLinks = 0, 0, 0, 0, 0
	for r := range f.rowCount() {
		f.clearFlags(r, builtFlags)
	}
	byTrace, first := order.Group(f.rowCount(), len(f.dict.traces.Values), nil, f.trace)
	f.join(byTrace, first)
	f.breakCycles()
	parallel.Do(f.linkChildren, func() { f.collectRoots(byTrace, first) }, f.buildDevices)
}

// join finds parents and the roots that stamps name, and marks duplicates and
// orphans. Rows without a trace id belong together with nothing.
func (f *Forest) join(byTrace, first []int32) {
	f.tree.parent = slices.Grow(f.tree.parent[:0], f.Len())[:f.Len()]
	f.tree.stampRow = make([]int32, len(f.dict.stamps.Values))
	for s := range f.tree.stampRow {
		f.tree.stampRow[s] = noRow
	}
	f.tree.target = make([]int32, len(f.links))
	for i := range f.tree.target {
		f.tree.target[i] = noRow
	}
	f.tree.originals = nil
	linked := f.linksByTrace()
	joiners := []*joiner{{Forest: f}}
	for _, r := range byTrace[:first[1]] {
		joiners[0].setParent(r, noRow)
	}
	var group sync.WaitGroup
	traces := first[1:]
	share := len(byTrace)/runtime.GOMAXPROCS(0) + 1
	for g := 0; g < len(traces)-1; {
		from := g
		for g < len(traces)-1 && int(traces[g]-traces[from]) < share {
			g++
		}
		end := g
		j := &joiner{Forest: f, index: newSpanIndex(&f.columns), others: make(map[recordTimes]struct{})}
		joiners = append(joiners, j)
		group.Go(func() {
			for t := from; t < end; t++ {
				j.join(byTrace[traces[t]:traces[t+1]], linked[int32(t+1)])
			}
		})
	}
	group.Wait()
	for _, j := range joiners {
		f.counts.Orphans += j.orphans
		f.counts.Duplicates += int64(len(j.duplicates))
		f.counts.Repeated += j.repeated
		if len(j.duplicates) > 0 && f.tree.originals == nil {
			f.tree.originals = make([]int32, f.rowCount())
		}
		for _, d := range j.duplicates {
			f.tree.originals[d.row] = d.original
		}
	}
}

// joiner joins the rows of traces, each by itself.
type joiner struct {
	*Forest
	index *spanIndex
	// others has the rows of a trace that are no originals.
	others map[recordTimes]struct{}

	orphans, repeated int64
	duplicates        []duplicate
}

// duplicate is a row and the one that had its ids before.
type duplicate struct{ row, original int32 }

// join joins the rows of a trace, which has the given links.
func (j *joiner) join(rows, links []int32) {
	f := j.Forest
	j.index.reset(len(rows))
	clear(j.others)
	for _, r := range rows {
		if f.span(r) == 0 {
			continue
		}
		if original, found := j.index.insert(r); found {
			j.markDuplicate(r, original)
		}
	}
	for _, r := range rows {
		parent := noRow
		if id := f.parentID(r); id != 0 {
			parent = j.index.find(id)
		}
		j.setParent(r, parent)
		if s := f.stamp(r); s != 0 && f.dict.stamps.Values[s].span != 0 {
			f.tree.stampRow[s] = j.index.find(f.dict.stamps.Values[s].span)
		}
	}
	for _, i := range links {
		f.tree.target[i] = j.index.find(f.links[i].span)
	}
}

// recordTimes tells apart the records of one trace with the same ids.
type recordTimes struct {
	span            uint64
	start, duration int64
	facts           rowFlag
}

func (f *Forest) recordTimes(r int32) recordTimes {
	return recordTimes{f.span(r), f.start(r), f.duration(r), f.flags(r) & (flagOp | flagHost | flagStart)}
}

// markDuplicate marks row r, whose ids the original had before, and whether a
// row with these ids has the same times.
func (j *joiner) markDuplicate(r, original int32) {
	j.setFlags(r, flagDuplicate)
	j.duplicates = append(j.duplicates, duplicate{r, original})
	times := j.recordTimes(r)
	repeats := times == j.recordTimes(original)
	if !repeats {
		_, repeats = j.others[times]
		j.others[times] = struct{}{}
	}
	if repeats {
		j.setFlags(r, flagRepeat)
		j.repeated++
	}
}

// setParent records the parent of r, noRow for one that was not found.
func (j *joiner) setParent(r, parent int32) {
	if j.has(r, flagDuplicate) {
		parent = noRow
	} else if parent == noRow && j.parentID(r) != 0 && j.has(r, flagOp) {
		j.setFlags(r, flagOrphan)
		j.orphans++
	}
	j.tree.parent[r] = parent
}

// breakCycles makes a root of one row of each ring of parents, the one that
// starts first. Each row is walked over twice at most.
func (f *Forest) breakCycles() {
	parent := f.tree.parent
	f.tree.cut = f.tree.cut[:0]
	f.tree.kids = slices.Grow(f.tree.kids[:0], len(parent))
	walk := f.tree.kids[:len(parent)] // the walk that came by; 0 is none
	clear(walk)
	for r := range int32(len(parent)) {
		at := r
		for at != noRow && walk[at] == 0 {
			walk[at] = r + 1
			at = parent[at]
		}
		if at == noRow || walk[at] != r+1 {
			continue // ended at a root, or where an earlier walk has been
		}
		earliest := at
		for next := parent[at]; next != at; next = parent[next] {
			if f.startsBefore(next, earliest) {
				earliest = next
			}
		}
		parent[earliest] = noRow
		f.tree.cut = append(f.tree.cut, earliest)
		f.counts.Cycles++
	}
}

// startsBefore orders rows of a ring: known starts first, then as compareStart does.
func (f *Forest) startsBefore(a, b int32) bool {
	if (f.flags(a)^f.flags(b))&flagStart != 0 {
		return f.has(a, flagStart)
	}
	return f.compareStart(a, b) < 0
}

// linkChildren lists each row's children.
func (f *Forest) linkChildren() {
	parent := f.tree.parent
	f.tree.kids, f.tree.first = order.Group(f.rowCount(), len(parent), f.tree.kids, func(r int32) int32 { return parent[r] })
	var sorter order.Rows
	for r := range int32(len(parent)) {
		f.sortByEnd(f.tree.children(r), &sorter)
	}
}

// collectRoots lists the rows without a parent.
func (f *Forest) collectRoots(byTrace, first []int32) {
	f.tree.roots = f.tree.roots[:0]
	var sorter order.Rows
	for g := range len(first) - 1 {
		n := len(f.tree.roots)
		for _, r := range byTrace[first[g]:first[g+1]] {
			if f.tree.parent[r] == noRow && !f.has(r, flagDuplicate) {
				f.tree.roots = append(f.tree.roots, r)
			}
		}
		f.sortByEnd(f.tree.roots[n:], &sorter)
	}
}

// sortByEnd sorts rows by end, the last first. Few rows have more than one
// child, and those of most others are in order or in reverse order.
func (f *Forest) sortByEnd(rows []int32, s *order.Rows) {
	if len(rows) > 1 {
		slices.Reverse(rows)
		s.Sort(rows, f.untilEnd, f.compareEnd)
	}
}

// untilEnd returns a number that is the smaller, the later row r ends, and largest
// where it has no start.
func (f *Forest) untilEnd(r int32) int64 {
	if !f.has(r, flagStart) {
		return math.MaxInt64
	}
	return -f.end(r)
}

// spanIndex finds the row of a span within one trace: a hash table with open
// addressing that holds row numbers alone, four bytes a slot. It is emptied
// and used again for each trace, so that it stays in the cache for all but the
// largest ones.
type spanIndex struct {
	columns *columns
	slots   []int32 // row + 1; 0 is free
	mask    uint64
	seed    uint64 // keeps made-up ids from colliding by design
}

func newSpanIndex(c *columns) *spanIndex {
	return &spanIndex{columns: c, seed: rand.Uint64()}
}

// reset empties the index and makes room for n rows.
func (x *spanIndex) reset(n int) {
	size := 1 << bits.Len(uint(n+n/3)) // at most three quarters full
	if size > cap(x.slots) {
		x.slots = make([]int32, size)
	} else {
		x.slots = x.slots[:size]
		clear(x.slots)
	}
	x.mask = uint64(size - 1)
}

// slot returns where id is, or where it belongs.
func (x *spanIndex) slot(id uint64) *int32 {
	hi, lo := bits.Mul64(id^x.seed, 0x9e3779b97f4a7c15)
	for i := hi ^ lo; ; i++ {
		s := &x.slots[i&x.mask]
		if *s == 0 || x.columns.span(*s-1) == id {
			return s
		}
	}
}

// insert adds row r. When its id is there already it returns the row that has
// it, and adds nothing.
func (x *spanIndex) insert(r int32) (first int32, found bool) {
	s := x.slot(x.columns.span(r))
	if *s != 0 {
		return *s - 1, true
	}
	*s = r + 1
	return r, false
}

// find returns the row with the id, or noRow.
func (x *spanIndex) find(id uint64) int32 { return *x.slot(id) - 1 }
