// Package line fits lines to samples.
package line

import (
	"cmp"
	"math"
	"slices"
)

// Line is a value that grows with another one: Fixed + Slope·x.
type Line struct{ Fixed, Slope float64 }

// At returns the value at x.
func (l Line) At(x float64) float64 { return l.Fixed + l.Slope*x }

// Sample is a recorded value Y at X.
type Sample struct{ X, Y float64 }

// Fit returns the line of samples by least squares, without the twentieth that is farthest from it. It neither falls
// nor begins below zero. Fit sorts the samples.
func Fit(list []Sample) (l Line) {
	const rounds, least, part = 3, 3, 20
	keep := list
	for range rounds {
		var mean Sample
		for _, s := range keep {
			mean.X += s.X / float64(len(keep))
			mean.Y += s.Y / float64(len(keep))
		}
		var square, product float64
		for _, s := range keep {
			square += (s.X - mean.X) * (s.X - mean.X)
			product += (s.X - mean.X) * (s.Y - mean.Y)
		}
		slope := 0.0
		if square > 0 {
			slope = max(0, min(product/square, mean.Y/mean.X))
		}
		l = Line{mean.Y - slope*mean.X, slope}
		off := func(s Sample) float64 { return math.Abs(s.Y-l.At(s.X)) / max(1, l.At(s.X)) }
		slices.SortFunc(list, func(a, b Sample) int { return cmp.Compare(off(a), off(b)) })
		keep = list[:max(min(least, len(list)), len(list)-len(list)/part)]
	}
	return l
}
