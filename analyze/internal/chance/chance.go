// Package chance says how probable it is that differences come about by chance: that one of several
// equal devices stands out as it does, and that one of several like durations does.
package chance

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/optrace/optrace/analyze/internal/rank"
)

// The permutations of Largest: at least, and for each device, and at most.
const (
	minDraws       = 10_000
	drawsPerDevice = 1_000
	maxDraws       = 1_000_000
)

// Largest returns the device with the largest sum over blocks, which have a value for each device, and
// the probability of a device with a sum as large if the devices were alike: if the values of each
// block were those of its devices in any order. It is estimated by permutations within the
// blocks, the same ones each time, and multiplied by the number of devices (Bonferroni). It is 1 for
// fewer than two devices and where nothing differs.
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
	r := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same figures for the same input
	reached := 1                     // the order that was seen
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

// Outlier returns the probability that the largest of values is as large as the last one, if they are
// alike and their logarithms normal: by the distance from the median in deviations, which are estimated
// by the median distance of the values from the median, or of those above it where that is
// larger, and multiplied by the number of values. It is 1 for fewer than minValues.
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
	const normal = 1.4826 // the deviation of a normal distribution by its median distance
	distance := (math.Log(largest) - median) / max(normal*deviation, 1e-9)
	return min(1, float64(n)*math.Erfc(distance/math.Sqrt2)/2)
}
