package optraceconnector

import (
	"cmp"
	"slices"
)

// intervals adds up how long something was going on, by intervals that may overlap and
// come in any order. It remembers a bounded number of times in which nothing was: an
// interval that comes so late that it lies in an earlier one counts for nothing there,
// so that the sum is never too large.
type intervals struct {
	list []interval // disjoint and in order, most at most
	most int
}

// interval is a time in Unix nanoseconds.
type interval struct{ start, end int64 }

// add adds an interval and returns how much of it was not covered before.
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
	if len(v.list) > v.most {
		v.forget()
	}
	return more
}

// forget makes one interval of the older half of them.
func (v *intervals) forget() {
	half := len(v.list) / 2
	v.list[half].start = v.list[0].start
	v.list = slices.Delete(v.list, 0, half)
}
