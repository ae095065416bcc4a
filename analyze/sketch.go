package analyze

import (
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
)

// sketchError bounds the relative error of a percentile.
const sketchError = 0.01

// durationBins maps durations to bins whose width grows with the value, so that
// the relative error is the same for nanoseconds and for hours. The cubic
// approximation of the logarithm takes a third of its time for 1 % more bins.
var durationBins = newDurationBins()

func newDurationBins() *mapping.CubicallyInterpolatedMapping {
	m, err := mapping.NewCubicallyInterpolatedMapping(sketchError)
	if err != nil { // the error is not between 0 and 1
		panic(err)
	}
	return m
}

// sketch estimates percentiles of durations. Its bins hold counts, so that the
// result depends neither on the order of the values nor on how they were
// spread over sketches that were merged. The zero value is ready to use.
type sketch struct {
	bins  *store.BufferedPaginatedStore
	zeros int64 // have no bin on a logarithmic scale
	count int64
}

// add adds a duration of at least 0.
func (s *sketch) add(v int64) {
	s.count++
	if v <= 0 {
		s.zeros++
		return
	}
	if s.bins == nil {
		s.bins = store.NewBufferedPaginatedStore()
	}
	s.bins.Add(durationBins.Index(float64(v)))
}

func (s *sketch) merge(o *sketch) {
	s.count += o.count
	s.zeros += o.zeros
	if o.bins == nil {
		return
	}
	if s.bins == nil {
		s.bins = store.NewBufferedPaginatedStore()
	}
	s.bins.MergeWith(o.bins)
}

// quantile returns the estimate of the value of rank q·(n−1), counted from 0
// and rounded down, among n sorted values; ok is false without values.
func (s *sketch) quantile(q float64) (v float64, ok bool) {
	if s.count == 0 {
		return 0, false
	}
	rank := q * float64(s.count-1)
	if rank < float64(s.zeros) {
		return 0, true
	}
	return durationBins.Value(s.bins.KeyAtRank(rank - float64(s.zeros))), true
}
