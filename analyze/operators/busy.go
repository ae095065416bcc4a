package operators

import (
	"slices"

	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
)

// busyOf returns when any device of a process ran something, by process as
// [trace.Forest.Processes] numbers them.
func busyOf(f *trace.Forest, processes []int32) map[int32]timeline.Times {
	rows := make(map[int32][]int32)
	for r := range f.Rows() {
		if f.IsDeviceSide(r) && f.Has(r, trace.FlagStart) {
			p := processes[f.Lane(r)]
			rows[p] = append(rows[p], r)
		}
	}
	all := make(map[int32]timeline.Times)
	for p, list := range rows {
		slices.SortFunc(list, f.CompareStart)
		var times timeline.Times
		for _, r := range list {
			times.Add(f.Start(r), f.End(r))
		}
		all[p] = times
	}
	return all
}
