package timeline

import "sort"

// Times is a list of disjoint, non-adjacent intervals, sorted by start.
type Times []span

type span struct {
	start, end int64
	before     int64 // the length of all earlier spans
}

// Add adds the interval [start, end), which must not start before earlier ones. Overlapping and adjacent intervals
// merge.
func (t *Times) Add(start, end int64) {
	n := len(*t)
	switch {
	case end <= start:
	case n == 0:
		*t = Times{{start: start, end: end}}
	case start <= (*t)[n-1].end:
		(*t)[n-1].end = max((*t)[n-1].end, end)
	default:
		last := (*t)[n-1]
		*t = append(*t, span{start, end, last.before + last.end - last.start})
	}
}

// Within returns the length of the intervals inside [start, end).
func (t Times) Within(start, end int64) int64 { return t.until(end) - t.until(start) }

// until returns the length of the intervals before at.
func (t Times) until(at int64) int64 {
	i := sort.Search(len(t), func(i int) bool { return t[i].start >= at }) - 1
	if i < 0 {
		return 0
	}
	return t[i].before + min(at, t[i].end) - t[i].start
}
