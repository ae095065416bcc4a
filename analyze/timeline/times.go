package timeline

import "sort"

// Times are intervals that neither touch nor overlap, by start.
type Times []span

type span struct {
	start, end int64
	before     int64 // the sum of those before it
}

// Add adds the interval [start, end), which starts no earlier than those before. What it has in
// common with them, or touches, is one interval.
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

// Within returns how much of [start, end) lies in the intervals.
func (t Times) Within(start, end int64) int64 { return t.until(end) - t.until(start) }

// until returns how much lies before a moment.
func (t Times) until(at int64) int64 {
	i := sort.Search(len(t), func(i int) bool { return t[i].start >= at }) - 1
	if i < 0 {
		return 0
	}
	return t[i].before + min(at, t[i].end) - t[i].start
}
