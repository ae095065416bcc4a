package optraceconnector

import "slices"

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
	n := len(v.list)
	if n > 0 && start >= v.list[n-1].start && start <= v.list[n-1].end { // the usual case
		last := &v.list[n-1]
		more = max(0, end-last.end)
		last.end += more
		return more
	}
	// The intervals from first to before after touch the new one.
	first := n
	for first > 0 && v.list[first-1].end >= start {
		first--
	}
	after := first
	more = end - start
	joined := interval{start, end}
	for after < n && v.list[after].start <= end {
		o := v.list[after]
		more -= min(o.end, end) - max(o.start, start)
		joined.start, joined.end = min(joined.start, o.start), max(joined.end, o.end)
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
