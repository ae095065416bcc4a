package analyze

import (
	"slices"

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

// maxExact is up to how many durations the percentiles are exact.
const maxExact = 32

// sketch estimates percentiles of durations. Up to maxExact durations are kept
// as they are; more go into bins, which hold counts. The result depends neither
// on the order of the durations nor on how they were spread over sketches that
// were merged. The zero value is ready to use.
type sketch struct {
	count int64
	zeros int64   // have no bin on a logarithmic scale
	exact []int64 // all of them, while there are no bins
	bins  *store.BufferedPaginatedStore
}

// add adds a duration of at least 0.
func (s *sketch) add(v int64) {
	s.count++
	if s.bins != nil {
		s.addToBins(v)
		return
	}
	s.exact = append(s.exact, v)
	if len(s.exact) > maxExact {
		s.spill()
	}
}

func (s *sketch) addToBins(v int64) {
	if v <= 0 {
		s.zeros++
		return
	}
	s.bins.Add(durationBins.Index(float64(v)))
}

// spill moves the durations into bins.
func (s *sketch) spill() {
	s.bins = store.NewBufferedPaginatedStore()
	for _, v := range s.exact {
		s.addToBins(v)
	}
	s.exact = nil
}

// merge adds what o holds; o stays as it is.
func (s *sketch) merge(o *sketch) {
	for _, v := range o.exact {
		s.add(v)
	}
	if o.bins == nil {
		return
	}
	if s.bins == nil {
		s.spill()
	}
	s.count += o.count
	s.zeros += o.zeros
	s.bins.MergeWith(o.bins)
}

// percentile returns the smallest duration that at least percent of a hundred
// of the durations do not exceed: the one of rank ⌈percent·n/100⌉. ok is false
// without durations. It may put what s holds into another order.
func (s *sketch) percentile(percent int64) (v float64, ok bool) {
	if s.count == 0 {
		return 0, false
	}
	index := (s.count/100)*percent + (s.count%100*percent+99)/100 - 1
	switch {
	case s.bins == nil:
		slices.Sort(s.exact)
		return float64(s.exact[index]), true
	case index < s.zeros:
		return 0, true
	}
	return durationBins.Value(s.bins.KeyAtRank(float64(index - s.zeros))), true
}
