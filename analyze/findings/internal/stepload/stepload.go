// Package stepload compares the work of steps.
package stepload

import (
	"cmp"
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Of returns the mean FLOPs of the operations of each step, or else their mean output elements, by the start of
// the step. A first step may repeat operations to tune them, so that the sum says less.
func Of(f *trace.Forest, all []steps.Row) map[int64]float64 {
	works := make(map[int64]float64)
	if f == nil {
		return works
	}
	rows := slices.DeleteFunc(slices.Clone(all), func(s steps.Row) bool { return !s.StartNS.Known })
	slices.SortStableFunc(rows, func(a, b steps.Row) int { return cmp.Compare(a.StartNS.V, b.StartNS.V) })
	sums := make([]struct{ flops, elements, n float64 }, len(rows))
	hasFLOPs := false
	for _, r := range f.Devices.ByStart {
		start := f.Start(r)
		i := sort.Search(len(rows), func(i int) bool { return rows[i].StartNS.V > start }) - 1
		if i < 0 || start > rows[i].StartNS.V+rows[i].WallNS.V || f.Kind(r) != op.KindCompute {
			continue
		}
		sums[i].flops += float64(f.Flops(r))
		sums[i].elements += float64(f.Elements(r))
		sums[i].n++
		hasFLOPs = hasFLOPs || f.Flops(r) > 0
	}
	for i, s := range sums {
		of := s.elements
		if hasFLOPs {
			of = s.flops
		}
		works[rows[i].StartNS.V] = of / max(1, s.n)
	}
	return works
}

// LikeFirst returns first, the first step, beside steps of its phase whose operations do as much work each, nil if it does
// not take 1.5 times as long for its work as three of them. A prompt before generated tokens is no start-up.
func LikeFirst(f *trace.Forest, all []steps.Row, first *steps.First) *steps.First {
	const (
		others = 3
		slower = 1.5
	)
	if first == nil {
		return nil
	}
	works := Of(f, all)
	work := works[first.Row.StartNS.V]
	var like, ofWork []int64 // their times, and for the work of the first
	for i := range all {
		s := &all[i]
		if s.Service != first.Service || !s.ToNextNS.Known || s.StartNS == first.Row.StartNS {
			continue
		}
		isLike := s.Phase == first.Phase && (!s.Tokens.Known || first.Tokens.V <= 2*s.Tokens.V)
		if isLike && work <= 2*works[s.StartNS.V] {
			like = append(like, s.ToNextNS.V)
			more := max(1, work/max(1, works[s.StartNS.V]))
			ofWork = append(ofWork, int64(more*float64(s.ToNextNS.V)))
		}
	}
	if len(like) < others || float64(first.ToNextNS.V) < slower*float64(sketch.Median(ofWork)) {
		return nil
	}
	found := *first
	found.MedianNS = sketch.Median(like)
	found.Others = len(like)
	return &found
}

// Extra returns how much longer the first step of a loop takes to the next one than the median of at least three others.
func Extra(all []steps.Row) (ns int64, known bool) {
	const others = 3
	var took []int64
	for i := range all {
		if s := &all[i]; s.Service == all[0].Service && s.ToNextNS.Known {
			took = append(took, s.ToNextNS.V)
		}
	}
	if len(took) <= others || !all[0].ToNextNS.Known {
		return 0, false
	}
	return took[0] - sketch.Median(took[1:]), true
}
