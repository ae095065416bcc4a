package rank

import "math"

// minIndependent is the smallest number of independent values in two samples for a comparison.
const minIndependent = 6

// Series compares two time series whose values may depend on each other. p is the p-value of no shift, independent the
// equivalent number of independent values in both samples. ok is false if they are too few for an interval.
//
// Each sample is modelled as an autoregressive process of first order with a common correlation ρ of neighbours. The
// variance of its mean is (1+ρ)/(1-ρ) times the variance for independent values. The interval of Shift is widened by
// the root of that factor, by the variance hidden in samples of dependent values, and by the ratio of Student's to the
// normal distribution, with half the degrees of freedom for independent values because ρ is an estimate. The p-value is
// at least the p-value of Test.
func Series(x, y []float64, alpha float64) (p float64, shift Interval, independent float64, ok bool) {
	n := float64(len(x)+len(y)) / 2
	times := inflation(x, y)
	shift = Shift(x, y, alpha)
	independent = 2 * n / times
	if independent < minIndependent {
		return 1, shift, independent, false
	}
	t := student((independent - 2) / 2)
	z := math.Sqrt2 * math.Erfinv(1-alpha)
	wider := math.Sqrt(times * n / (n - times))
	toZero := shift.Estimate - shift.Low
	if shift.Estimate < 0 {
		toZero = shift.High - shift.Estimate
	}
	if p = Test(x, y); toZero > 0 {
		p = max(p, t.p(math.Abs(shift.Estimate)*z/(toZero*wider)))
	}
	wider *= t.quantile(alpha) / z
	shift.Low = shift.Estimate - (shift.Estimate-shift.Low)*wider
	shift.High = shift.Estimate + (shift.High-shift.Estimate)*wider
	return p, shift, independent, true
}

// inflation returns (1+ρ)/(1-ρ), at least 1. ρ is the mean rank correlation of neighbours in both samples, corrected
// for its bias -(1+4ρ)/n (Marriott and Pope, 1954) and raised by 1.5 standard errors: too small an inflation finds
// false differences, too large an inflation only misses some.
func inflation(x, y []float64) float64 {
	n := float64(len(x)+len(y)) / 2
	if n <= 4 {
		return math.Inf(1)
	}
	rho := ((neighbours(x)+neighbours(y))/2*n + 1) / (n - 4)
	rho += 1.5 * math.Sqrt(max(0, 1-rho*rho)/(2*n))
	if rho >= 1 {
		return math.Inf(1)
	}
	return max(1, (1+rho)/(1-rho))
}

// neighbours returns the rank correlation of adjacent values, 0 if all values are equal.
func neighbours(values []float64) float64 {
	ranks, _ := doubledRanks(values, nil)
	mean := float64(len(values) + 1)
	var both, all float64
	for i, r := range ranks {
		d := float64(r) - mean
		all += d * d
		if i > 0 {
			both += d * (float64(ranks[i-1]) - mean)
		}
	}
	if all == 0 {
		return 0
	}
	return both / all
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
