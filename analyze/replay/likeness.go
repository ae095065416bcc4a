package replay

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// warm shortens the operations of the first step to the median of their like in the other steps. Steps are counted by
// process. Without other steps with the operation it stays.
func (g *Graph) warm(v *variant) int64 {
	type same struct {
		process int32
		like
	}
	f := g.forest
	first := make(map[int32]int64)
	for r := range f.Rows() {
		if step, known := first[g.process[r]]; f.Has(r, trace.FlagStep) && (!known || f.Step(r) < step) {
			first[g.process[r]] = f.Step(r)
		}
	}
	times := make(map[same][]int64)
	s := &selection{rows: make([]bool, f.Len())}
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagStep) || g.begin[r] == none {
			continue
		}
		if f.Step(r) == first[g.process[r]] {
			s.add(r, true)
		} else {
			k := same{g.process[r], g.likeness(r)}
			times[k] = append(times[k], f.Duration(r))
		}
	}
	medians := make(map[same]int64, len(times))
	for k, list := range times {
		slices.Sort(list)
		medians[k] = list[len(list)/2]
	}
	g.limit(s, v, func(r int32, ns int64) int64 {
		if median, known := medians[same{g.process[r], g.likeness(r)}]; known {
			return min(ns, median)
		}
		return ns
	})
	return s.count
}

// like identifies calls with the same work.
type like struct {
	name            int32
	flops, elements int64
}

func (g *Graph) likeness(r int32) like {
	return like{g.forest.Name(r), g.forest.Flops(r), g.forest.Elements(r)}
}

// typical returns the median duration of like calls.
func (g *Graph) typical(s *selection) map[like]int64 {
	times := make(map[like]*[]int64)
	for r := range g.forest.Rows() {
		if s.rows[r] {
			list := order.At(times, g.likeness(r))
			*list = append(*list, g.forest.Duration(r))
		}
	}
	medians := make(map[like]int64, len(times))
	for k, list := range times {
		slices.Sort(*list)
		medians[k] = (*list)[len(*list)/2]
	}
	return medians
}
