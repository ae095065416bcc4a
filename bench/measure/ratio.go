package measure

import (
	"math"
	"slices"
)

// Ratio sums up the ratios of several rounds.
type Ratio struct {
	Median, Min, Max float64
}

// Ratios returns the ratios of a round each: the cost of the peer by ours, so
// that more is better. Both must have the same length.
func Ratios(peer, ours []float64) []float64 {
	ratios := make([]float64, len(peer))
	for i := range ratios {
		ratios[i] = peer[i] / ours[i]
	}
	return ratios
}

// Summarise returns the median and the extremes; NaN without values.
func Summarise(values []float64) Ratio {
	if len(values) == 0 {
		return Ratio{math.NaN(), math.NaN(), math.NaN()}
	}
	return Ratio{Median: Median(values), Min: slices.Min(values), Max: slices.Max(values)}
}

// Median returns the value in the middle, or the mean of the two there; NaN
// without values.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
