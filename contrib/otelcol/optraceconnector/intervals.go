package optraceconnector

import (
	"cmp"
	"slices"
)

// intervals adds up the union of time intervals in any order. It remembers a limited number of gaps. A
// late interval within forgotten gaps adds 0, so the sum is never too large.
type intervals struct {
	list []interval // disjoint, sorted, at most most
	most int
}

// interval is a time in Unix nanoseconds.
type interval struct{ start, end int64 }

// add adds an interval and returns the newly covered time.
func (v *intervals) add(start, end int64) (more int64) {
	if end <= start {
		return 0
	}
	// The intervals from first to before after touch the new one.
	first, _ := slices.BinarySearchFunc(v.list, start,
		func(o interval, start int64) int { return cmp.Compare(o.end, start) })
	after := first
	more = end - start
	joined := interval{start, end}
	for after < len(v.list) && v.list[after].start <= end {
		o := v.list[after]
		more -= min(o.end, end) - max(o.start, start)
		joined.start = min(joined.start, o.start)
		joined.end = max(joined.end, o.end)
		after++
	}
	v.list = slices.Replace(v.list, first, after, joined)
	if half := len(v.list) / 2; len(v.list) > v.most { // merge the older half
		v.list[half].start = v.list[0].start
		v.list = slices.Delete(v.list, 0, half)
	}
	return more
}
