package clocks

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

// tree connects ranks to the reference by pairs that have enough collectives.
type tree struct {
	ranks     []int64 // all of them, in order
	reference int64
	offsets   map[int64]Offset
}

// newTree finds the tree. The reference is the lowest rank of the largest part whose ranks are
// connected. A rank is connected by as few pairs as there can be, and among those to the rank
// with which it has most collectives.
func newTree(e *Estimator) *tree {
	t := &tree{ranks: slices.Sorted(maps.Keys(e.ranks))}
	near := make(map[int64][]int64)
	for p, d := range e.pairs {
		if d.seen >= MinCollectives {
			near[p.low] = append(near[p.low], p.high)
			near[p.high] = append(near[p.high], p.low)
		}
	}
	for _, list := range near {
		slices.Sort(list)
	}
	seen := make(map[int64]bool)
	for _, rank := range t.ranks {
		if seen[rank] || len(near[rank]) == 0 {
			continue
		}
		offsets := e.connected(rank, near)
		for r := range offsets {
			seen[r] = true
		}
		if len(offsets) > len(t.offsets) {
			t.reference, t.offsets = rank, offsets
		}
	}
	return t
}

// connected returns the offsets of all ranks that are connected to the reference, level by
// level.
func (e *Estimator) connected(reference int64, near map[int64][]int64) map[int64]Offset {
	offsets := map[int64]Offset{reference: {Rank: reference}}
	for level := []int64{reference}; len(level) > 0; {
		via := make(map[int64]int64)
		for _, from := range level {
			for _, to := range near[from] {
				if _, known := offsets[to]; known {
					continue
				}
				if best, ok := via[to]; !ok || e.between(from, to).seen > e.between(best, to).seen {
					via[to] = from
				}
			}
		}
		level = slices.Sorted(maps.Keys(via))
		for _, to := range level {
			offsets[to] = e.offset(offsets[via[to]], to)
		}
	}
	return offsets
}

func (e *Estimator) between(a, b int64) *differences { return e.pairs[pair{min(a, b), max(a, b)}] }

// offset returns the offset of a rank by way of another one.
func (e *Estimator) offset(via Offset, rank int64) Offset {
	d := e.between(via.Rank, rank)
	middle, sign := d.median(), int64(1)
	if rank < via.Rank {
		sign = -1
	}
	residuals := make([]int64, len(d.samples))
	for i, s := range d.samples {
		residuals[i] = max(s.difference-middle, middle-s.difference)
	}
	slices.Sort(residuals)
	o := Offset{
		Rank: rank, OffsetNS: wide.AddSaturating(via.OffsetNS, sign*middle), Via: op.Known(via.Rank), Collectives: d.seen,
		ResidualMedianNS: op.Known(median(residuals)), ResidualMaxNS: op.Known(residuals[len(residuals)-1]),
	}
	if drift, ok := d.drift(); ok {
		o.DriftNSPerS = op.KnownFloat(float64(sign) * drift)
	}
	return o
}

// median returns the median of the differences, the lower one of two.
func (d *differences) median() int64 {
	values := make([]int64, len(d.samples))
	for i, s := range d.samples {
		values[i] = s.difference
	}
	slices.Sort(values)
	return median(values)
}

// median returns the median of values in order, the lower one of two.
func median(sorted []int64) int64 { return sorted[sketch.Place(int64(len(sorted)), 50)] }

// drift returns by how many nanoseconds in a second the difference grows: between the medians
// of the first and of the last third of the time. ok is false where these are less than a
// hundredth of a second apart.
func (d *differences) drift() (perSecond float64, ok bool) {
	samples := slices.Clone(d.samples)
	slices.SortFunc(samples, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.difference, b.difference))
	})
	n := max(1, len(samples)/3)
	early, late := differences{samples: samples[:n]}, differences{samples: samples[len(samples)-n:]}
	const shortest = 10_000_000
	seconds := late.middleTime() - early.middleTime()
	if seconds < shortest {
		return 0, false
	}
	return float64(late.median()-early.median()) / (float64(seconds) / 1e9), true
}

// middleTime returns the time of the sample in the middle of some in order.
func (d *differences) middleTime() int64 { return d.samples[len(d.samples)/2].at }
