package rank

import (
	"cmp"
	"math"
	"slices"
)

// Course is how the level of a time series changes.
type Course struct {
	Change int // the place of the first value at another level, 0 if the series has one level
	// Before and After are the levels on both sides of the change.
	Before, After float64
	// Two is set if the series stays at one of two separate levels for long. Otherwise it drifts.
	Two bool
}

const (
	minSteady = 10 // the smallest length of a series whose course is known
	minLevel  = 3  // the smallest number of values at a level
	// separate is the least distance of two levels by the standard deviation around them. A line has 3.5.
	separate = 4
	// maxSum bounds the sum of the ranks of a steady series, by its standard deviation: the chance is 0.01
	// (Kolmogorov's distribution).
	maxSum = 1.63
)

// CourseOf finds a change in a series: two separate levels, or else a drift of its ranks (A. N. Pettitt, "A
// non-parametric approach to the change-point problem", 1979, with dependent values).
func CourseOf(values []float64) Course {
	if len(values) < minSteady {
		return Course{}
	}
	if c := levelsOf(values); c.Two {
		return c
	}
	ranks := centredRanks(values)
	var sum, most float64
	at := 0
	for i, r := range ranks {
		if sum += r; math.Abs(sum) > most {
			most = math.Abs(sum)
			at = i + 1
		}
	}
	if most == 0 || at == len(ranks) {
		return Course{}
	}
	for _, part := range [][]float64{ranks[:at], ranks[at:]} {
		mean := blockMeans(part, len(part))[0]
		for i := range part {
			part[i] -= mean
		}
	}
	around := product(ranks, ranks)
	if most <= maxSum*math.Sqrt(around*min(40, firstOrder(ranks, 0))) {
		return Course{}
	}
	return Course{Change: at, Before: Median(values[:at]), After: Median(values[at:])}
}

// levelsOf divides the values where the sum of squares around two means is least. The levels are separate if their
// distance is large, and last if fewer than half of the expected neighbours, by more than three standard deviations,
// are at different levels (A. Wald and J. Wolfowitz, 1940). High values in the first tenth only are a start.
func levelsOf(values []float64) (c Course) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	sums := make([]float64, n+1)
	squares := make([]float64, n+1)
	for i, v := range sorted {
		v -= sorted[n/2]
		sums[i+1] = sums[i] + v
		squares[i+1] = squares[i] + v*v
	}
	mean := func(from, to int) float64 { return (sums[to] - sums[from]) / float64(to-from) }
	around := func(from, to int) float64 {
		return squares[to] - squares[from] - mean(from, to)*(sums[to]-sums[from])
	}
	least := math.Inf(1)
	cut := 0
	for i := minLevel; i <= n-minLevel; i++ {
		if a := around(0, i) + around(i, n); a < least && sorted[i-1] < sorted[i] {
			least = a
			cut = i
		}
	}
	if cut == 0 {
		return c
	}
	low, high := mean(0, cut), mean(cut, n)
	isHigh := func(i int) bool { return values[i] >= sorted[cut] }
	changes := 0
	for i := 1; i < n; i++ {
		if isHigh(i) != isHigh(i-1) {
			changes++
			c.Change = cmp.Or(c.Change, i)
		}
	}
	expected := 2 * float64(cut) * float64(n-cut) / float64(n)
	deviation := math.Sqrt(expected * (expected - 1) / float64(n-1))
	c.Two = high-low > separate*math.Sqrt(max(0, least)/float64(n-2)) &&
		float64(changes) < min(expected/2, expected-3*deviation) &&
		!(changes == 1 && isHigh(0) && c.Change <= n/10)
	c.Before, c.After = low+sorted[n/2], high+sorted[n/2]
	if isHigh(0) {
		c.Before, c.After = c.After, c.Before
	}
	return c
}
