package rank

import "math"

const (
	minIndependent = 6  // the smallest number of independent values in two samples for a comparison
	blocks         = 20 // the number of blocks of a series whose means show slow changes
	minPairs       = 30 // the smallest number of pairs to compare
)

// Comparison compares two time series.
type Comparison struct {
	// P is the p-value of no shift. Shift is from x to y.
	P           float64
	Shift       Interval
	Independent float64 // the equivalent number of independent values in both samples
	Paired      bool    // set if values of equal places were compared with one another
	// X and Y are the courses of both series if a change during one of them prevents a comparison.
	X, Y Course
	OK   bool // false if the values allow no p-value and no interval
}

// Series compares two time series whose values may depend on each other.
//
// Values of equal places are compared as pairs if the series rise and fall together, or if a series changes its level
// but their differences do not. Otherwise, a series that changes its level is not compared.
//
// The interval of Shift is widened by the root of the inflation of both series and by the ratio of Student's to the
// normal distribution, with half the degrees of freedom for independent values because the inflation is an estimate.
// The p-value is at least the p-value of Test.
func Series(x, y []float64, alpha float64) Comparison {
	c := unpaired(x, y, alpha)
	n := min(len(x), len(y))
	if n < minPairs || 10*n < 9*max(len(x), len(y)) {
		return c
	}
	together := correlation(x[:n], y[:n])+1e-9 >= max(0.5, 4/math.Sqrt(float64(n)))
	if !together && (c.OK || c.X.Two || c.Y.Two) {
		return c
	}
	minus := make([]float64, n)
	plus := make([]float64, n)
	for i := range plus {
		plus[i] = (y[i] - x[i]) / 2
		minus[i] = -plus[i]
	}
	// The differences of all pairs of the two are the means of all pairs of differences. Ranks of the two are no more
	// independent than the ranks of one: the variance is twice as large.
	paired := Comparison{Paired: true}
	if paired.compare(minus, plus, alpha, 2); paired.OK && CourseOf(plus).Change == 0 {
		return paired
	}
	return c
}

func unpaired(x, y []float64, alpha float64) Comparison {
	c := Comparison{X: CourseOf(x), Y: CourseOf(y)}
	if c.compare(x, y, alpha, 1); c.X.Change > 0 || c.Y.Change > 0 {
		c.P = 1
		c.OK = false
	}
	return c
}

// compare compares samples whose difference has the variance for independent samples times a factor.
func (c *Comparison) compare(x, y []float64, alpha, factor float64) {
	n := float64(len(x)+len(y)) / 2
	times := (inflation(x)/float64(len(x)) + inflation(y)/float64(len(y))) * n / 2
	c.P = 1
	c.Shift = Shift(x, y, alpha)
	if c.Independent = 2 * n / times; c.Independent < minIndependent {
		return
	}
	c.OK = true
	t := student((c.Independent - 2) / 2)
	z := math.Sqrt2 * math.Erfinv(1-alpha)
	wider := math.Sqrt(factor * times * n / (n - times))
	shift := &c.Shift
	toZero := shift.Estimate - shift.Low
	if shift.Estimate < 0 {
		toZero = shift.High - shift.Estimate
	}
	if c.P = Test(x, y); toZero > 0 {
		c.P = max(c.P, t.p(math.Abs(shift.Estimate)*z/(toZero*wider)))
	}
	wider *= t.quantile(alpha) / z
	shift.Low = shift.Estimate - (shift.Estimate-shift.Low)*wider
	shift.High = shift.Estimate + (shift.High-shift.Estimate)*wider
}

// inflation returns the variance of a series' mean rank divided by the variance for independent values, at least 1. It
// takes the larger of two estimates. The first is from the correlation of neighbours, raised by a standard error, or by
// 1.5 of them without blocks. The second is from the means of blocks. Too small an inflation finds false differences,
// too large an inflation only misses some.
func inflation(x []float64) float64 {
	ranks := centredRanks(x)
	errors := 1.0
	if len(ranks) < 2*blocks {
		errors = 1.5
	}
	times := firstOrder(ranks, errors)
	length := len(ranks) / blocks
	if length < 2 {
		return times
	}
	means := blockMeans(ranks, length)
	all := product(ranks, ranks) / float64(len(ranks))
	if all == 0 {
		return times
	}
	between := product(means, means) / float64(len(means)-1)
	return max(times, between*float64(length)/all*firstOrder(means, 0))
}

func blockMeans(values []float64, length int) []float64 {
	means := make([]float64, len(values)/length)
	for i := range means {
		for _, v := range values[i*length : (i+1)*length] {
			means[i] += v / float64(length)
		}
	}
	return means
}

// firstOrder returns (1+ρ)/(1-ρ), at least 1, for centred values of an autoregressive process of first order. ρ is the
// correlation of neighbours, corrected for its bias -(1+4ρ)/n (Marriott and Pope, 1954) and raised by standard errors.
func firstOrder(values []float64, errors float64) float64 {
	n := float64(len(values))
	all := product(values, values)
	switch {
	case n <= 4:
		return math.Inf(1)
	case all == 0:
		return 1
	}
	rho := (product(values[1:], values)/all*n + 1) / (n - 4)
	if rho += errors * math.Sqrt(max(0, 1-rho*rho)/n); rho >= 1 {
		return math.Inf(1)
	}
	return max(1, (1+rho)/(1-rho))
}

// product returns the sum of products of values at equal places, as many as a has.
func product(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// correlation returns Spearman's rank correlation, 0 if all values of a sample are equal.
func correlation(x, y []float64) float64 {
	a := centredRanks(x)
	b := centredRanks(y)
	if all := product(a, a) * product(b, b); all > 0 {
		return product(a, b) / math.Sqrt(all)
	}
	return 0
}

// centredRanks returns twice the ranks less their mean.
func centredRanks(x []float64) []float64 {
	ranks, _ := doubledRanks(x, nil)
	centred := make([]float64, len(ranks))
	for i, r := range ranks {
		centred[i] = float64(r - len(x) - 1)
	}
	return centred
}

type student float64

// p returns the probability of a value at least as far from 0 as t.
func (d student) p(t float64) float64 {
	freedom := float64(d)
	if freedom > 1000 {
		return math.Erfc(t / math.Sqrt2)
	}
	return incompleteBeta(freedom/(freedom+t*t), freedom/2, 0.5)
}

// quantile returns the t for a p-value.
func (d student) quantile(p float64) float64 {
	low := 0.0
	high := 1.0
	for d.p(high) > p {
		high *= 2
	}
	for range 50 {
		if middle := (low + high) / 2; d.p(middle) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// incompleteBeta returns the regularized incomplete beta function by its continued fraction (Abramowitz and Stegun,
// 26.5.8).
func incompleteBeta(x, a, b float64) float64 {
	if x <= 0 || x >= 1 {
		return max(0, min(1, x))
	}
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(1-x, b, a)
	}
	logA, _ := math.Lgamma(a)
	logB, _ := math.Lgamma(b)
	logAB, _ := math.Lgamma(a + b)
	factor := math.Exp(logAB-logA-logB+a*math.Log(x)+b*math.Log1p(-x)) / a
	fraction := 1.0 // computed from its end
	for m := 60.0; m > 0; m-- {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		odd := -(a + m - 1) * (a + b + m - 1) * x / ((a + 2*m - 2) * (a + 2*m - 1))
		fraction = 1 + odd/(1+even/fraction)
	}
	return factor / fraction
}
