package clocks

import (
	"cmp"
	"slices"
)

// The bounds of an Estimator.
const (
	// MinCollectives is how many collectives two ranks must have in common to be compared.
	MinCollectives = 5
	// maxSamples is how many differences of two ranks are kept: of more, every second one,
	// every fourth one and so on.
	maxSamples = 512
	// maxPairs is how many pairs of ranks are compared. Further ones are passed over.
	maxPairs = 1 << 16
	// maxTime bounds times and maxDifference by how much two of them differ, so that
	// neither a difference nor a residual overflows: the years 1824 to 2116, and 73 years.
	maxTime       = 1<<62 - 1
	maxDifference = 1 << 61
)

// End is when a collective ended for a rank, in Unix nanoseconds by the clock of the rank.
type End struct {
	Rank int64
	At   int64
}

// Estimator compares the clocks of ranks. The zero value is ready to use.
type Estimator struct {
	pairs map[pair]*differences
	ranks map[int64]int64 // how many collectives with others each rank took part in
}

// pair are two ranks, of which the first is the lower one.
type pair struct{ low, high int64 }

// differences are by how much the clock of the higher rank of a pair was ahead of that of the
// lower one when collectives ended.
type differences struct {
	seen    int64
	stride  int64 // of so many collectives, one is kept
	samples []sample
}

// sample is a difference at a time, which is that of the lower rank.
type sample struct{ at, difference int64 }

// Add adds a collective: when it ended for each of several ranks, each of which is there
// once. Each rank is compared with the lowest one.
func (e *Estimator) Add(ends []End) {
	if len(ends) < 2 || slices.ContainsFunc(ends, func(end End) bool { return end.At < -maxTime || end.At > maxTime }) {
		return
	}
	if e.pairs == nil {
		e.pairs, e.ranks = make(map[pair]*differences), make(map[int64]int64)
	}
	lowest := slices.MinFunc(ends, func(a, b End) int { return cmp.Compare(a.Rank, b.Rank) })
	e.ranks[lowest.Rank]++
	for _, end := range ends {
		if end.Rank == lowest.Rank {
			continue
		}
		e.ranks[end.Rank]++
		difference := end.At - lowest.At
		if max(difference, -difference) > maxDifference {
			continue
		}
		between := pair{lowest.Rank, end.Rank}
		d := e.pairs[between]
		if d == nil {
			if len(e.pairs) >= maxPairs {
				continue
			}
			d = &differences{stride: 1}
			e.pairs[between] = d
		}
		d.add(sample{at: lowest.At, difference: difference})
	}
}

// add adds a difference.
func (d *differences) add(s sample) {
	if d.seen%d.stride == 0 {
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

// Estimate returns the offsets.
func (e *Estimator) Estimate() Estimate {
	tree := newTree(e)
	est := Estimate{MinCollectives: MinCollectives, Offsets: []Offset{}, Unknown: []Unknown{}}
	for _, rank := range tree.ranks {
		if o, ok := tree.offsets[rank]; ok {
			est.Offsets = append(est.Offsets, o)
		} else {
			est.Unknown = append(est.Unknown, Unknown{Rank: rank, Collectives: e.ranks[rank]})
		}
	}
	if len(est.Offsets) > 0 {
		est.Reference = &tree.reference
	}
	return est
}
