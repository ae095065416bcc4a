// Package chance computes how probable it is to see a difference by chance: an outlier among equal devices, or among
// similar durations.
package chance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/optrace/optrace/analyze/internal/rank"
)

// Numbers of permutations in Largest: the minimum, per device, and the maximum.
const (
	minDraws       = 10_000
	drawsPerDevice = 1_000
	maxDraws       = 1_000_000
)

// Largest returns the device with the largest sum over blocks. Each block has a value per device. p is the probability
// of an equally large sum of any device if all devices were alike, that is, if the order of values in each block were
// random. It is estimated by fixed random permutations within blocks and multiplied by the number of devices
// (Bonferroni). It is 1 for fewer than two devices and without differences.
func Largest(blocks [][]int64) (device int, p float64) {
	if len(blocks) == 0 || len(blocks[0]) < 2 {
		return 0, 1
	}
	n := len(blocks[0])
	sums := make([]float64, n)
	for _, b := range blocks {
		for d, v := range b {
			sums[d] += float64(v)
		}
	}
	for d, s := range sums {
		if s > sums[device] {
			device = d
		}
	}
	draws := min(max(minDraws, drawsPerDevice*n), maxDraws)
	r := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- reproducible figures
	reached := 1                     // the observed order
	for range draws {
		sum := 0.0
		for _, b := range blocks {
			sum += float64(b[r.IntN(n)])
		}
		if sum >= sums[device] {
			reached++
		}
	}
	return device, min(1, float64(n)*float64(reached)/float64(draws+1))
}

// Outlier returns the probability of a maximum as large as largest if values are alike with normal logarithms. The
// deviation is estimated from the median distance to the median of all values, or of the values above it if larger. The
// result is multiplied by the number of values. It is 1 for fewer than minValues values.
func Outlier(values []float64, largest float64) float64 {
	const minValues = 8
	n := len(values)
	if n < minValues || largest <= 0 {
		return 1
	}
	logs := make([]float64, n)
	for i, v := range values {
		logs[i] = math.Log(max(v, 1))
	}
	median := rank.Median(logs)
	var all, above []float64
	for _, v := range logs {
		all = append(all, math.Abs(v-median))
		if v > median {
			above = append(above, v-median)
		}
	}
	deviation := rank.Median(all)
	if len(above) > 0 {
		slices.Sort(above)
		deviation = max(deviation, above[(len(above)-1)/2])
	}
	const normal = 1.4826 // ratio of deviation to median distance for a normal distribution
	distance := (math.Log(largest) - median) / max(normal*deviation, 1e-9)
	return min(1, float64(n)*math.Erfc(distance/math.Sqrt2)/2)
}

// Text returns a probability as sentences have it.
func Text(p float64) string {
	if p < 0.001 {
		return "below 0.001"
	}
	return fmt.Sprintf("%.2g", p)
}
