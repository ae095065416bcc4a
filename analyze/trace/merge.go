package trace

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/wide"
)

// Merge moves the rows of others into f, in the order of parts. The others are empty afterwards. Blocks are freed while
// rows are copied, so the extra memory is small.
func (f *Forest) Merge(others ...*Forest) {
	lost := f.Counts
	sources := []*mergeSource{f.takeAll(&f.Names)}
	for _, o := range others {
		lost.addLasting(&o.Counts)
		f.takeKept(o)
		sources = append(sources, o.takeAll(&f.Names))
	}
	var links, collected int
	for _, s := range sources {
		links += len(s.links)
		collected += len(s.collected)
	}
	f.links = slices.Grow(f.links, links)
	f.Collectives = slices.Grow(f.Collectives, collected)
	f.appendRuns(inputOrder(sources))
	f.Counts.addLasting(&lost)
}

// addLasting adds the counts not contained in rows.
func (c *Counts) addLasting(o *Counts) {
	c.BadTimes += o.BadTimes
	c.Overflow += o.Overflow
	c.Clocked += o.Clocked
	c.ClockError = max(c.ClockError, o.ClockError)
}

// takeAll moves the content of f to a source with numbers of the dictionary to.
func (f *Forest) takeAll(to *Names) *mergeSource {
	f.pack()
	names := f.Names
	s := &mergeSource{columns: f.columns, collected: f.Collectives, links: f.links, runs: f.runs}
	for b := range s.blocks {
		s.unread = append(s.unread, min(blockRows, s.N-int32(b)*blockRows))
	}
	f.columns = columns{}
	f.Names = newDictionary()
	f.Collectives = nil
	f.runs = nil
	f.Counts = Counts{}
	f.links = nil
	f.built.Store(false)
	s.numbers = to.numberingOf(&names)
	return s
}

type mergeSource struct {
	columns
	collected []Collective
	links     []rowLink
	runs      []run

	numbers *renumbering
	unread  []int32 // counts the rows of each block not yet read, if blocks may be freed; nil otherwise

	// parent overrides the parent ids of rows; nil for no override.
	parent func(r int32) uint64
}

func (f *Forest) appendRuns(runs []sourceRun) {
	for i := range runs {
		r := &runs[i]
		f.StartPart(r.part)
		if room := int32(f.limit) - f.N; r.end-r.row > room {
			f.Counts.Overflow += int64(r.end - r.row - room)
			r.end = r.row + room
		}
		f.appendLinks(r)
		f.appendCollectives(r)
		for first := r.row; first < r.end; {
			first += f.appendRows(r.source, first, r.end)
		}
	}
}

func (f *Forest) appendCollectives(r *sourceRun) {
	list := r.source.collected
	first, _ := CollectiveOf(list, r.row)
	for _, c := range list[first:] {
		if c.Row >= r.end {
			break
		}
		c.Row += f.N - r.row
		c.Name = r.source.numbers.collectives(c.Name)
		f.Collectives = append(f.Collectives, c)
	}
}

func (f *Forest) appendLinks(r *sourceRun) {
	links := r.source.links
	first, _ := linksOf(links, r.row)
	for _, l := range links[first:] {
		if l.row >= r.end {
			break
		}
		l.row += f.N - r.row
		l.trace = r.source.numbers.columns[colTrace](l.trace)
		f.links = append(f.links, l)
	}
}

// appendRows appends rows of s from first, within one block of both and before end. It returns their number.
func (f *Forest) appendRows(s *mergeSource, first, end int32) int32 {
	at := first / blockRows
	n := min(end-first, blockRows-first%blockRows, blockRows-f.N%blockRows)
	k := f.room()
	f.open.copy(k, s.blocks[at], first%blockRows, n)
	for of, numbers := range s.numbers.columns {
		if numbers != nil && f.open.values[of] != nil { // number 0 is the same in all dictionaries
			values := f.open.values[of][k : k+n]
			for i, old := range values {
				values[i] = int64(numbers(int32(old)))
			}
		}
	}
	names := f.open.column(colName, k, n)
	flags := f.open.flags[k : k+n]
	for i := range names {
		if flags[i] &^= BuiltFlags; flags[i]&FlagOp != 0 {
			f.Counts.Ops++
			names[i] = int64(s.numbers.operations(int32(names[i])))
		} else {
			f.Counts.Spans++
			names[i] = int64(s.numbers.spans(int32(names[i])))
		}
	}
	if s.parent != nil {
		for i, parents := int32(0), f.open.column(colParent, k, n); i < n; i++ {
			parents[i] = int64(s.parent(first + i))
		}
	}
	f.added(n)
	if s.unread != nil {
		if s.unread[at] -= n; s.unread[at] == 0 {
			s.blocks[at] = nil
		}
	}
	return n
}

// run is a sequence of rows from one part of the input, up to the next run.
type run struct {
	part int64
	row  int32
}

type sourceRun struct {
	run
	source *mergeSource
	end    int32 // one past the last row
}

// inputOrder returns the runs of all sources by part. Runs of one part keep the order of the sources.
func inputOrder(sources []*mergeSource) []sourceRun {
	var all []sourceRun
	for _, s := range sources {
		runs := append([]run{{}}, s.runs...) // rows before the first part belong to part 0
		for i, r := range runs {
			end := s.N
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

// Shift subtracts shifts[r] from the times of each row r, and ranks[k] from the times of calls of rank k. Times outside
// the valid range become unknown. Calls of other ranks are dropped because their clock is unknown.
func (f *Forest) Shift(shifts []int64, ranks map[int64]int64) {
	f.pack()
	for first := int32(0); first < f.Rows(); first += blockRows {
		f.change(first, colStart, func(r int32, start int64) int64 {
			if !f.Has(r, FlagStart) {
				return start
			}
			if start = wide.AddSaturating(start, -shifts[r]); IsTime(start, f.Duration(r)) {
				return start
			}
			f.clearFlags(r, FlagStart)
			f.Counts.BadTimes++
			return 0
		})
		f.change(first, colLaunch, func(r int32, launch int64) int64 {
			if !f.Has(r, FlagLaunch) {
				return launch
			}
			return wide.AddSaturating(launch, -shifts[r])
		})
	}
	for i := range f.Collectives {
		if c := &f.Collectives[i]; c.Started {
			c.Start = wide.AddSaturating(c.Start, -shifts[c.Row])
		}
	}
	calls := f.Calls[:0]
	for _, c := range f.Calls {
		by, known := ranks[c.Rank.V]
		c.Start = wide.AddSaturating(c.Start, -by)
		c.Recorded.V = wide.AddSaturating(c.Recorded.V, -by)
		if known && c.Rank.Known && IsTime(c.Start, c.Duration) {
			calls = append(calls, c)
		}
	}
	f.Calls = calls
	f.built.Store(false)
}
