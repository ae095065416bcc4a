package suspects

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// The overlap of an operation with the next one of its stream that is normal: a
// dependent launch begins while the operation before it ends. Overlap below one
// of the two is no reason for doubt.
const (
	normalOverlap      = 5_000 // nanoseconds
	normalOverlapParts = 100   // a hundredth of the operation
)

// suspectDurations returns the operations whose durations cannot be right, in the order of the input: a stream runs one
// operation at a time, in order. An operation A is suspect if an operation B of the same device and stream that starts
// later, and does not lie below A, ends before A does, and A goes on for at least normalOverlap and a hundredth of its own
// duration after the start of B. Repeats take no part.
func suspectDurations(f *trace.Forest) []int32 {
	if !slices.ContainsFunc(f.Names.Lanes.Values, func(l trace.Lane) bool { return l.Stream.Known }) {
		return nil
	}
	rows, first := order.GroupRows(f.Devices.ByStart, len(f.Names.Lanes.Values), nil, func(i int32) int32 {
		lane := f.Lane(f.Devices.ByStart[i])
		if !f.Names.Lanes.Values[lane].Stream.Known {
			return trace.NoRow
		}
		return f.Devices.Streams[lane]
	})
	s := overrunSearch{Forest: f}
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
	// byEnd and seen are used again for each stretch.
	byEnd []int32
	seen  rangeTree
}

// stream searches the rows of a stream, which are sorted by start: each stretch in which something ran all the while.
func (s *overrunSearch) stream(rows []int32) {
	from, latest, overrun := 0, int64(-trace.MaxTime), false
	for i, r := range rows {
		if s.Start(r) >= latest {
			if overrun {
				s.stretch(rows[from:i])
			}
			from, overrun = i, false
		}
		end := s.End(r)
		overrun = overrun || end < latest
		latest = max(latest, end)
	}
	if overrun {
		s.stretch(rows[from:])
	}
}

// stretch searches rows, which are sorted by start, by end. Those gone over before end earlier. The ones among them that
// matter to an operation start after it and early enough: of these neighbours in rows it is enough to know the first and
// the last by their order in the tree, where the operations below it are without a gap.
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

// isOverrun reports whether one of the operations seen starts after that in
// place i, early enough, and does not lie below it.
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

// rangeTree holds numbers at places and finds the extremes within a range of
// places: a binary tree in which node i has the children 2i and 2i+1.
type rangeTree struct {
	leaves      int
	least, most []int32
}

// reset empties the tree and makes room for n places.
func (t *rangeTree) reset(n int) {
	t.leaves = n
	t.least, t.most = slices.Grow(t.least[:0], 2*n)[:2*n], slices.Grow(t.most[:0], 2*n)[:2*n]
	for i := range t.least {
		t.least[i], t.most[i] = math.MaxInt32, -1
	}
}

// insert puts a number at a place.
func (t *rangeTree) insert(place int, number int32) {
	for i := place + t.leaves; i > 0; i /= 2 {
		if t.least[i] <= number && t.most[i] >= number {
			return // so it is further up
		}
		t.least[i], t.most[i] = min(t.least[i], number), max(t.most[i], number)
	}
}

// extremes returns the least and the largest number at the places from … to-1;
// without any they are the largest int32 and -1.
func (t *rangeTree) extremes(from, to int) (least, most int32) {
	least, most = math.MaxInt32, -1
	for from, to = from+t.leaves, to+t.leaves; from < to; from, to = from/2, to/2 {
		if from%2 == 1 {
			least, most = min(least, t.least[from]), max(most, t.most[from])
			from++
		}
		if to%2 == 1 {
			to--
			least, most = min(least, t.least[to]), max(most, t.most[to])
		}
	}
	return least, most
}
