package suspects

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// The normal overlap of an operation with the next one of its stream: a dependent launch begins before the end of the
// operation before. Only an overlap above both bounds is suspect.
const (
	normalOverlap      = 5_000 // nanoseconds
	normalOverlapParts = 100   // of the operation's duration

	tooLong = 365 * 24 * 3600e9 // nanoseconds, of an operation whose end is out of range
)

// suspectDurations returns the operations with impossible durations, in input order. A stream runs one operation at a
// time. Operation A is suspect if a later operation B of the same stream, not below A, ends before A, and A runs at
// least normalOverlap and a hundredth of its own duration beyond the start of B. An operation of more than a year with
// an end out of range is suspect, too. Repeats do not count.
func suspectDurations(f *trace.Forest) []int32 {
	s := overrunSearch{Forest: f}
	if f.Structure().BadTimes > 0 {
		for r := range f.Rows() {
			if f.CountsInSums(r) && !f.Has(r, trace.FlagStart) && f.Duration(r) > tooLong {
				s.found = append(s.found, r)
			}
		}
	}
	if !slices.ContainsFunc(f.Names.Lanes.Values, func(l trace.Lane) bool { return l.Stream.Known }) {
		return s.found
	}
	rows, first := order.GroupRows(f.Devices.ByStart, len(f.Names.Lanes.Values), nil, func(i int32) int32 {
		lane := f.Lane(f.Devices.ByStart[i])
		if !f.Names.Lanes.Values[lane].Stream.Known {
			return trace.NoRow
		}
		return f.Devices.Streams[lane]
	})
	for stream := range len(first) - 1 {
		s.stream(rows[first[stream]:first[stream+1]])
	}
	slices.Sort(s.found)
	return s.found
}

// overrunSearch finds operations that outlast later ones of their stream.
type overrunSearch struct {
	*trace.Forest
	found []int32

	order *trace.Nesting // nil until there is a stretch
	// byEnd and seen are reused for each stretch.
	byEnd []int32
	seen  rangeTree
}

// stream searches the rows of a stream, sorted by start. A stretch is a range of rows without a gap.
func (s *overrunSearch) stream(rows []int32) {
	from := 0
	latest := int64(-trace.MaxTime)
	overrun := false
	for i, r := range rows {
		if s.Start(r) >= latest {
			if overrun {
				s.stretch(rows[from:i])
			}
			from = i
			overrun = false
		}
		end := s.End(r)
		overrun = overrun || end < latest
		latest = max(latest, end)
	}
	if overrun {
		s.stretch(rows[from:])
	}
}

// stretch searches rows, sorted by start, in the order of ends. seen has the rows that end earlier. Of these, rows that
// start after an operation and early enough are neighbours. It is enough to know their first and last place in the
// tree: descendants of the operation have consecutive places there.
func (s *overrunSearch) stretch(rows []int32) {
	if s.order == nil {
		s.order = s.Nesting()
	}
	s.seen.reset(len(rows))
	s.byEnd = s.byEnd[:0]
	for i := range rows {
		s.byEnd = append(s.byEnd, int32(i))
	}
	slices.SortFunc(s.byEnd, func(x, y int32) int { return cmp.Compare(s.End(rows[x]), s.End(rows[y])) })
	unseen := s.byEnd
	for _, place := range s.byEnd {
		for s.End(rows[unseen[0]]) < s.End(rows[place]) {
			s.seen.insert(int(unseen[0]), s.order.Place[rows[unseen[0]]])
			unseen = unseen[1:]
		}
		if s.isOverrun(rows, int(place)) {
			s.found = append(s.found, rows[place])
		}
	}
}

// isOverrun reports whether a seen operation starts after rows[i], early enough, and is not below it.
func (s *overrunSearch) isOverrun(rows []int32, i int) bool {
	r := rows[i]
	until := s.End(r) - max(normalOverlap, (s.Duration(r)+normalOverlapParts-1)/normalOverlapParts)
	n, _ := slices.BinarySearchFunc(rows[i+1:], until, func(later int32, until int64) int {
		if s.Start(later) <= until {
			return -1
		}
		return 1
	})
	least, most := s.seen.extremes(i+1, i+1+n)
	place := s.order.Place[r]
	return least < place || most >= place+s.order.Size[r]
}

// rangeTree finds extremes of numbers at a range of places. Node i has the children 2i and 2i+1.
type rangeTree struct {
	leaves      int
	least, most []int32
}

func (t *rangeTree) reset(n int) {
	t.leaves = n
	t.least = slices.Grow(t.least[:0], 2*n)[:2*n]
	t.most = slices.Grow(t.most[:0], 2*n)[:2*n]
	for i := range t.least {
		t.least[i] = math.MaxInt32
		t.most[i] = -1
	}
}

func (t *rangeTree) insert(place int, number int32) {
	for i := place + t.leaves; i > 0; i /= 2 {
		if t.least[i] <= number && t.most[i] >= number {
			return // the ancestors hold as extreme numbers
		}
		t.least[i] = min(t.least[i], number)
		t.most[i] = max(t.most[i], number)
	}
}

// extremes returns the least and largest number at places from … to-1, math.MaxInt32 and -1 without any.
func (t *rangeTree) extremes(from, to int) (least, most int32) {
	least = math.MaxInt32
	most = -1
	from += t.leaves
	to += t.leaves
	for ; from < to; from, to = from/2, to/2 {
		if from%2 == 1 {
			least = min(least, t.least[from])
			most = max(most, t.most[from])
			from++
		}
		if to%2 == 1 {
			to--
			least = min(least, t.least[to])
			most = max(most, t.most[to])
		}
	}
	return least, most
}
