package replay

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
)

// addPairs adds, in recordings without launchers, the operations of hosts that run as often as selected operations of a
// name, pair by pair in the order of their starts. More names of the host than of devices leave it open which.
func (g *Graph) addPairs(s *selection) {
	f := g.forest
	if slices.ContainsFunc(g.ops(), func(r int32) bool { return s.rows[r] && f.Launcher(r) != trace.NoRow }) {
		return
	}
	type set struct{ process, name int32 }
	type times struct {
		process int32
		n       int
	}
	var lists [2]map[set][]int32 // of devices and of hosts
	for side := range lists {
		lists[side] = make(map[set][]int32)
		for r := range f.Rows() {
			isSide := f.Has(r, trace.FlagOp) && g.begin[r] != none && g.isOnDevice(r) == (side == 0)
			if isSide && (side == 0 || f.Has(r, trace.FlagHost) && len(f.Tree.Children(r)) == 0) {
				k := set{g.process[r], f.Name(r)}
				lists[side][k] = append(lists[side][k], r)
			}
		}
	}
	selected := make(map[times][]int32)
	names := make(map[times]int)
	for k, rows := range lists[0] {
		slices.SortStableFunc(rows, f.CompareStart)
		if of := (times{k.process, len(rows)}); slices.ContainsFunc(rows, func(r int32) bool { return s.rows[r] }) {
			names[of]++
			if before := selected[of]; before == nil || k.name < f.Name(before[0]) {
				selected[of] = rows
			}
		} else {
			names[of] = math.MinInt32
		}
	}
	for k := range lists[1] {
		names[times{k.process, len(lists[1][k])}]--
	}
	for k, rows := range lists[1] {
		of := times{k.process, len(rows)}
		if names[of] < 0 {
			continue
		}
		slices.SortStableFunc(rows, f.CompareStart)
		for i, r := range selected[of] {
			s.rows[rows[i]] = s.rows[rows[i]] || s.rows[r]
		}
	}
}
