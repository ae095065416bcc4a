package operators

import (
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/trace"
)

// busy is when any device of a process ran something: times that neither touch nor overlap, by
// start, each with the sum of those before it.
type busy []struct{ start, end, before int64 }

// busyOf returns the busy times by process, as [trace.Forest.Processes] numbers them.
func busyOf(f *trace.Forest, processes []int32) map[int32]busy {
	rows := make(map[int32][]int32)
	for r := range f.Rows() {
		if f.IsDeviceSide(r) && f.Has(r, trace.FlagStart) {
			p := processes[f.Lane(r)]
			rows[p] = append(rows[p], r)
		}
	}
	all := make(map[int32]busy)
	for p, list := range rows {
		slices.SortFunc(list, f.CompareStart)
		var times busy
		for _, r := range list {
			last := len(times) - 1
			if last >= 0 && f.Start(r) <= times[last].end {
				times[last].end = max(times[last].end, f.End(r))
				continue
			}
			before := int64(0)
			if last >= 0 {
				before = times[last].before + times[last].end - times[last].start
			}
			times = append(times, struct{ start, end, before int64 }{f.Start(r), f.End(r), before})
		}
		all[p] = times
	}
	return all
}

// within returns how much of a time is busy.
func (b busy) within(from, to int64) int64 { return b.until(to) - b.until(from) }

// until returns how much is busy before a moment.
func (b busy) until(at int64) int64 {
	i := sort.Search(len(b), func(i int) bool { return b[i].start >= at }) - 1
	if i < 0 {
		return 0
	}
	return b[i].before + min(at, b[i].end) - b[i].start
}
