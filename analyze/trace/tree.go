package trace

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/parallel"
)

// buildTree links rows to their parents by trace and span id, and sorts the operations of each device.
//
// An operation whose parent was not read becomes an orphan and a root. Duplicates are not in the tree. Every other row
// is in the tree exactly once for any input.
func (f *Forest) buildTree() {
	f.Counts.Orphans = 0
	f.Counts.Duplicates = 0
	f.Counts.Repeated = 0
	f.Counts.Cycles = 0
	f.Counts.MissingLinks = 0
	for r := range f.Rows() {
		f.clearFlags(r, BuiltFlags)
	}
	f.decideSides()
	byTrace, first := order.Group(f.Rows(), len(f.Names.Traces.Values), nil, f.Trace)
	f.join(byTrace, first)
	f.breakCycles()
	parallel.Do(f.buildDevices, f.linkChildren, func() { f.collectRoots(byTrace, first) })
}

// join finds parents and the roots named by stamps, and marks duplicates and orphans. Rows without a trace id are
// unrelated.
func (f *Forest) join(byTrace, first []int32) {
	f.Tree.Parent = slices.Grow(f.Tree.Parent[:0], f.Len())[:f.Len()]
	f.Tree.stampRow = noRows(len(f.Names.Stamps.Values))
	f.Tree.target = noRows(len(f.links))
	f.Tree.Originals = nil
	f.Tree.launcher = nil
	if slices.ContainsFunc(f.blocks, func(b *block) bool { return b.columns[colLaunchSpan] != column{} }) {
		f.Tree.launcher = noRows(f.Rows())
	}
	traceOf := func(i int32) int32 { return f.links[i].trace }
	linked, firstLink := order.Group(int32(len(f.links)), len(f.Names.Traces.Values), nil, traceOf)
	joiners := []*joiner{{Forest: f}}
	for _, r := range byTrace[:first[1]] {
		joiners[0].setParent(r, NoRow)
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
		j := &joiner{Forest: f, others: make(map[recordTimes]struct{}), odd: rand.Uint64() | 1}
		joiners = append(joiners, j)
		group.Go(func() {
			for t := from; t < end; t++ {
				j.join(byTrace[traces[t]:traces[t+1]], linked[firstLink[t+1]:firstLink[t+2]])
			}
		})
	}
	group.Wait()
	for _, j := range joiners {
		f.Counts.Orphans += j.orphans
		f.Counts.Duplicates += int64(len(j.duplicates))
		f.Counts.Repeated += j.repeated
		if len(j.duplicates) > 0 && f.Tree.Originals == nil {
			f.Tree.Originals = make([]int32, f.Rows())
		}
		for _, d := range j.duplicates {
			f.Tree.Originals[d.row] = d.original
		}
	}
}

type joiner struct {
	*Forest
	// rows has the rows of the trace in free places behind the hash of their ids. odd is random, so that no input can
	// make many ids meet.
	rows []int32
	odd  uint64
	// others holds the times of duplicates in the trace.
	others map[recordTimes]struct{}

	orphans, repeated int64
	duplicates        []duplicate
}

type duplicate struct{ row, original int32 }

func (j *joiner) join(rows, links []int32) {
	f := j.Forest
	places := 2 << bits.Len(uint(len(rows))) // at least twice as many as rows
	j.rows = slices.Grow(j.rows[:0], places)[:places]
	for i := range j.rows {
		j.rows[i] = NoRow
	}
	clear(j.others)
	for _, r := range rows {
		id := f.Span(r)
		if id == 0 {
			continue
		}
		if place := j.place(id); *place != NoRow {
			j.markDuplicate(r, *place)
		} else {
			*place = r
		}
	}
	for _, r := range rows {
		parent := NoRow
		if id := f.ParentID(r); id != 0 {
			parent = j.find(id)
		}
		j.setParent(r, parent)
		if id := f.number(r, colLaunchSpan); id != 0 && f.Tree.launcher != nil {
			f.Tree.launcher[r] = j.find(uint64(id))
		}
		if s := f.Stamp(r); s != 0 && f.Names.Stamps.Values[s].Span != 0 {
			f.Tree.stampRow[s] = j.find(f.Names.Stamps.Values[s].Span)
		}
	}
	for _, i := range links {
		f.Tree.target[i] = j.find(f.links[i].span)
	}
}

func (j *joiner) find(id uint64) int32 { return *j.place(id) }

// place returns the place of the row with an id, or a free one for it.
func (j *joiner) place(id uint64) *int32 {
	for i := id * j.odd >> (65 - bits.Len(uint(len(j.rows)))); ; i++ {
		if p := &j.rows[i&uint64(len(j.rows)-1)]; *p == NoRow || j.Span(*p) == id {
			return p
		}
	}
}

// recordTimes distinguishes records of one trace with the same ids.
type recordTimes struct {
	span            uint64
	start, duration int64
	facts           Flags
}

func (f *Forest) recordTimes(r int32) recordTimes {
	return recordTimes{f.Span(r), f.Start(r), f.Duration(r), f.Flags(r) & (FlagOp | FlagHost | FlagStart)}
}

// markDuplicate marks row r as a duplicate of original, and as a repeat if an earlier row with these ids has
// the same times.
func (j *joiner) markDuplicate(r, original int32) {
	j.setFlags(r, FlagDuplicate)
	j.duplicates = append(j.duplicates, duplicate{r, original})
	times := j.recordTimes(r)
	repeats := times == j.recordTimes(original)
	if !repeats {
		_, repeats = j.others[times]
		j.others[times] = struct{}{}
	}
	if repeats {
		j.setFlags(r, FlagRepeat)
		j.repeated++
	}
}

// setParent records the parent of r, NoRow if not found.
func (j *joiner) setParent(r, parent int32) {
	if j.Has(r, FlagDuplicate) {
		parent = NoRow
	} else if parent == NoRow && j.ParentID(r) != 0 && j.Has(r, FlagOp) {
		j.setFlags(r, flagOrphan)
		j.orphans++
	}
	j.Tree.Parent[r] = parent
}

// breakCycles makes the earliest row of each cycle a root. It visits each row at most twice.
func (f *Forest) breakCycles() {
	parent := f.Tree.Parent
	f.Tree.Cut = f.Tree.Cut[:0]
	f.Tree.kids = slices.Grow(f.Tree.kids[:0], len(parent))
	walk := f.Tree.kids[:len(parent)] // the walk that visited the row; 0 is none
	clear(walk)
	for r := range int32(len(parent)) {
		at := r
		for at != NoRow && walk[at] == 0 {
			walk[at] = r + 1
			at = parent[at]
		}
		if at == NoRow || walk[at] != r+1 {
			continue // reached a root or an earlier walk
		}
		earliest := at
		for next := parent[at]; next != at; next = parent[next] {
			if f.startsBefore(next, earliest) {
				earliest = next
			}
		}
		parent[earliest] = NoRow
		f.Tree.Cut = append(f.Tree.Cut, earliest)
		f.Counts.Cycles++
	}
}

func (f *Forest) startsBefore(a, b int32) bool {
	if (f.Flags(a)^f.Flags(b))&FlagStart != 0 {
		return f.Has(a, FlagStart)
	}
	return f.CompareStart(a, b) < 0
}

func (f *Forest) linkChildren() {
	parent := f.Tree.Parent
	f.Tree.kids, f.Tree.First = order.Group(f.Rows(), len(parent), f.Tree.kids,
		func(r int32) int32 { return parent[r] })
	for r := range int32(len(parent)) {
		f.SortByEnd(f.Tree.Children(r))
	}
}

func (f *Forest) collectRoots(byTrace, first []int32) {
	f.Tree.Roots = f.Tree.Roots[:0]
	for g := range len(first) - 1 {
		n := len(f.Tree.Roots)
		for _, r := range byTrace[first[g]:first[g+1]] {
			if f.Tree.Parent[r] == NoRow && !f.Has(r, FlagDuplicate) {
				f.Tree.Roots = append(f.Tree.Roots, r)
			}
		}
		f.SortByEnd(f.Tree.Roots[n:])
	}
}

// SortByEnd sorts rows by end, last first. Most lists are short or already sorted in one direction.
func (f *Forest) SortByEnd(rows []int32) {
	if len(rows) > 1 {
		slices.Reverse(rows)
		order.Rows(rows, func(r int32) int64 {
			if !f.Has(r, FlagStart) {
				return math.MaxInt64
			}
			return -f.End(r)
		}, f.CompareEnd)
	}
}

// Build links the spans to a tree and sorts the operations of each device. It does nothing if no record was added since
// the last call. Every analysis calls it.
func (f *Forest) Build() {
	if f.built.Load() {
		return
	}
	f.building.Lock()
	defer f.building.Unlock()
	if f.built.Load() {
		return
	}
	f.pack()
	f.found.Clear()
	for _, build := range []func(){
		f.buildTree, f.buildSteps, f.buildLaunchers, f.buildGraphs, f.buildExecutions, f.buildPlaces,
	} {
		if build(); f.Ended() {
			break
		}
	}
	f.built.Store(true)
}

// Found returns find(f), found once for all that ask for a T of f. They share it and must not change it.
func Found[T any](f *Forest, find func(*Forest) T) T {
	f.Build()
	key := reflect.TypeFor[T]()
	found, known := f.found.Load(key)
	if !known {
		found, _ = f.found.LoadOrStore(key, sync.OnceValue(func() T { return find(f) }))
	}
	return found.(func() T)()
}

// Structure builds f and returns its counts.
func (f *Forest) Structure() Counts {
	f.Build()
	return f.Counts
}

// Without returns a Forest of the rows not in out. Rows below a removed row move below the row above it.
func (f *Forest) Without(out []bool) *Forest {
	g := NewLimited(f.limit)
	g.By = f.By
	g.apart = f.Devices.Shared
	g.MaxDevices = f.MaxDevices
	g.Calls = f.Calls
	g.Waits = f.Waits
	adopted := f.adopted(out)
	source := &mergeSource{
		columns: f.columns, collected: f.Collectives, links: f.links, numbers: g.Names.numberingOf(&f.Names),
		parent: func(r int32) uint64 {
			if parent := f.Tree.Parent[r]; parent != NoRow && out[parent] {
				return adopted[parent]
			}
			return f.ParentID(r)
		},
	}
	var runs []sourceRun
	from := int32(0)
	for part := range order.RunsOf(out, func(out *bool) bool { return *out }) {
		end := from + int32(len(part))
		if !part[0] {
			runs = append(runs, sourceRun{run: run{row: from}, source: source, end: end})
		}
		from = end
	}
	g.appendRuns(runs)
	return g
}

// adopted returns the new parent id for the children of each removed row.
func (f *Forest) adopted(out []bool) map[int32]uint64 {
	ids := make(map[int32]uint64)
	for r := range f.Tree.TopDown() {
		switch parent := f.Tree.Parent[r]; {
		case !out[r]:
		case parent != NoRow && out[parent]:
			ids[r] = ids[parent]
		case parent != NoRow || f.Has(r, flagOrphan):
			ids[r] = f.ParentID(r)
		}
	}
	return ids
}

// CompareStart orders rows by start and then by end. Ties are broken by content, so a converted file has the same
// figures: by depth in the tree (up to 64 levels), trace id, span id and name, and at last by input order.
func (f *Forest) CompareStart(x, y int32) int {
	if d := cmp.Compare(f.Start(x), f.Start(y)); d != 0 {
		return d
	}
	if d := cmp.Compare(f.Duration(x), f.Duration(y)); d != 0 {
		return d
	}
	return f.compareTied(x, y)
}

// CompareEnd orders rows by end, last first, then longest first, then as CompareStart breaks ties. Rows
// without a start come last.
func (f *Forest) CompareEnd(x, y int32) int {
	if d := int(f.Flags(y)&FlagStart) - int(f.Flags(x)&FlagStart); d != 0 {
		return d
	}
	if d := cmp.Compare(f.End(y), f.End(x)); d != 0 {
		return d
	}
	if d := cmp.Compare(f.Duration(y), f.Duration(x)); d != 0 {
		return d
	}
	return f.compareTied(x, y)
}

// compareTied orders rows with equal times. It needs the parents.
func (f *Forest) compareTied(x, y int32) int {
	if d := f.compareDepth(x, y); d != 0 {
		return d
	}
	tx := f.traceID(x)
	ty := f.traceID(y) // files keep these ids
	if d := bytes.Compare(tx[:], ty[:]); d != 0 {
		return d
	}
	if d := cmp.Compare(f.Span(x), f.Span(y)); d != 0 && !tx.IsZero() {
		return d
	}
	if d := strings.Compare(f.RowName(x), f.RowName(y)); d != 0 {
		return d
	}
	return int(x) - int(y)
}

// compareDepth orders rows by depth, up to maxAbove.
func (f *Forest) compareDepth(x, y int32) int {
	parent := f.Tree.Parent
	for range maxAbove {
		x = parent[x]
		y = parent[y]
		if x == y {
			return 0
		}
		if x == NoRow {
			return -1
		}
		if y == NoRow {
			return 1
		}
	}
	return 0
}
