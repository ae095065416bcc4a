package clocks

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/op"
)

const (
	// MinCollectives is the least number of collectives of two ranks for a comparison.
	MinCollectives = 5
	// maxSamples bounds the kept differences of two ranks. Beyond it every second is kept, then every fourth.
	maxSamples = 512
	// maxDifference bounds the difference of two times, 73 years, to keep residuals from overflowing.
	maxDifference = 1 << 61
)

type comparison struct {
	pairs map[pair]*differences
	ranks map[int64]int64 // number of collectives of each rank
}

// pair is two ranks, the lower first.
type pair struct{ low, high int64 }

// differences are the offsets of the higher rank's clock to the lower rank's at the ends of collectives.
type differences struct {
	seen    int64
	stride  int64 // one of stride collectives is kept
	samples []sample
}

// sample is a difference of ends, and the duration of the shorter part.
type sample struct{ at, difference, shorter int64 }

func newComparison() *comparison {
	return &comparison{pairs: make(map[pair]*differences), ranks: make(map[int64]int64)}
}

// add adds a collective of several ranks, sorted by rank. It compares each rank with the lowest.
func (c *comparison) add(parts []rankedPart) {
	lowest := parts[0]
	c.ranks[lowest.rank]++
	for _, p := range parts[1:] {
		c.ranks[p.rank]++
		difference := p.end - lowest.end
		if max(difference, -difference) > maxDifference {
			continue
		}
		order.At(c.pairs, pair{lowest.rank, p.rank}).add(sample{
			lowest.end, difference, min(p.end-p.start, lowest.end-lowest.start),
		})
	}
}

func (d *differences) add(s sample) {
	if d.stride = max(d.stride, 1); d.seen%d.stride == 0 {
		if len(d.samples) == maxSamples {
			for i := range maxSamples / 2 {
				d.samples[i] = d.samples[2*i]
			}
			d.samples = d.samples[:maxSamples/2]
			d.stride *= 2
		}
		if d.seen%d.stride == 0 {
			d.samples = append(d.samples, s)
		}
	}
	d.seen++
}

// estimate returns the offsets. The reference is the lowest rank of the largest connected set of ranks.
func (c *comparison) estimate() Estimate {
	near := make(map[int64][]int64)
	for p, d := range c.pairs {
		if d.seen >= MinCollectives {
			near[p.low] = append(near[p.low], p.high)
			near[p.high] = append(near[p.high], p.low)
		}
	}
	est := Estimate{MinCollectives: MinCollectives, Offsets: []Offset{}, Unknown: []Unknown{}}
	ranks := slices.Sorted(maps.Keys(c.ranks))
	seen := make(map[int64]bool)
	var largest map[int64]Offset
	for _, rank := range ranks {
		if seen[rank] || len(near[rank]) == 0 {
			continue
		}
		offsets := c.connected(rank, near)
		for r := range offsets {
			seen[r] = true
		}
		if len(offsets) > len(largest) {
			largest = offsets
			est.Reference = &rank
		}
	}
	for _, rank := range ranks {
		if o, ok := largest[rank]; ok {
			est.Offsets = append(est.Offsets, o)
		} else {
			est.Unknown = append(est.Unknown, Unknown{Rank: rank, Collectives: c.ranks[rank]})
		}
	}
	return est
}

// connected returns the offsets of all ranks connected to the reference, through as few pairs as possible, and among
// equals through the rank with the most common collectives.
func (c *comparison) connected(reference int64, near map[int64][]int64) map[int64]Offset {
	offsets := map[int64]Offset{reference: {Rank: reference}}
	for level := []int64{reference}; len(level) > 0; {
		via := make(map[int64]int64)
		for _, from := range level {
			for _, to := range near[from] {
				if _, known := offsets[to]; known {
					continue
				}
				if best, ok := via[to]; !ok || c.between(from, to).seen > c.between(best, to).seen {
					via[to] = from
				}
			}
		}
		level = slices.Sorted(maps.Keys(via))
		for _, to := range level {
			offsets[to] = c.offset(offsets[via[to]], to)
		}
	}
	return offsets
}

func (c *comparison) between(a, b int64) *differences { return c.pairs[pair{min(a, b), max(a, b)}] }

func (c *comparison) offset(via Offset, rank int64) Offset {
	d := c.between(via.Rank, rank)
	middle := d.median()
	sign := int64(1)
	if rank < via.Rank {
		sign = -1
	}
	residuals := make([]int64, len(d.samples))
	for i, s := range d.samples {
		residuals[i] = max(s.difference-middle, middle-s.difference)
	}
	o := Offset{
		Rank: rank, OffsetNS: wide.AddSaturating(via.OffsetNS, sign*middle), Via: op.Known(via.Rank),
		Collectives: d.seen, ResidualMedianNS: op.Known(sketch.Median(residuals)),
		ResidualMaxNS: op.Known(slices.Max(residuals)),
	}
	if drift, ok := d.drift(); ok {
		o.DriftNSPerS = op.KnownFloat(float64(sign) * drift)
	}
	return o
}

func (d *differences) median() int64 {
	values := make([]int64, len(d.samples))
	for i, s := range d.samples {
		values[i] = s.difference
	}
	return sketch.Median(values)
}

// minApart is the least offset, in nanoseconds, that the last messages of a collective do not explain.
const minApart = 50_000

// allows returns the largest offset that the collectives of two ranks explain: the duration of their shorter parts, and
// four times the residual of o.
func (d *differences) allows(o *Offset) int64 {
	shorter := make([]int64, len(d.samples))
	for i, s := range d.samples {
		shorter[i] = s.shorter
	}
	return max(minApart, 4*o.ResidualMedianNS.V, sketch.Median(shorter))
}

// drift returns the growth of the difference in nanoseconds per second, between the medians of the first and the last
// third of the samples. ok is false if these are less than 10 ms apart.
func (d *differences) drift() (perSecond float64, ok bool) {
	samples := slices.SortedFunc(slices.Values(d.samples), func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.difference, b.difference))
	})
	n := max(1, len(samples)/3)
	early := differences{samples: samples[:n]}
	late := differences{samples: samples[len(samples)-n:]}
	const shortest = 10_000_000
	passed := late.samples[n/2].at - early.samples[n/2].at
	if passed < shortest {
		return 0, false
	}
	return float64(late.median()-early.median()) / (float64(passed) / 1e9), true
}
