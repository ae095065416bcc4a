package rank

import (
	"math"
	"slices"
)

// Interval is an estimate with bounds for the true value.
type Interval struct{ Estimate, Low, High float64 }

// Shift returns the shift from x to y: the median difference over all pairs (Hodges and Lehmann), with an interval of
// confidence 1-alpha. The samples must not be empty. If they are too small for alpha, the interval spans all
// differences.
func Shift(x, y []float64, alpha float64) Interval {
	p := pairs{slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y))}
	all := int64(len(x)) * int64(len(y))
	k := boundary(len(x), len(y), alpha)
	return Interval{
		Estimate: (p.difference((all+1)/2) + p.difference(all/2+1)) / 2,
		Low:      p.difference(k), High: p.difference(all + 1 - k),
	}
}

// Median returns the median of values, which must not be empty.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// boundary returns the rank, from 1, of the sorted difference at the lower bound of the interval. The upper bound has
// the same rank from the end.
func boundary(m, n int, alpha float64) int64 {
	if m+n > maxExact {
		mn := float64(m) * float64(n)
		z := math.Sqrt2 * math.Erfinv(1-alpha)
		return max(1, int64(mn/2-z*math.Sqrt(mn*float64(m+n+1)/12)))
	}
	ranks := make([]int, m+n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	counts := subsetSums(ranks, m)
	all := 0.0
	for _, c := range counts {
		all += c
	}
	least := m * (m + 1) / 2
	below := 0.0
	for u := range int64(m) * int64(n) {
		if below += counts[least+int(u)]; below >= all*alpha/2 {
			return max(1, u)
		}
	}
	return 1
}

// pairs holds two sorted samples.
type pairs struct{ x, y []float64 }

// difference returns the k-th smallest difference y-x over all pairs, from 1.
func (p pairs) difference(k int64) float64 {
	// Binary search over the ordered floating-point numbers.
	low := ordinal(p.y[0] - p.x[len(p.x)-1])
	high := ordinal(p.y[len(p.y)-1] - p.x[0])
	for low < high {
		middle := low + int64(uint64(high-low)/2)
		if p.upTo(number(middle)) >= k {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return number(low)
}

// upTo counts differences of at most d.
func (p pairs) upTo(d float64) int64 {
	n := int64(0)
	end := 0
	for _, x := range p.x {
		for end < len(p.y) && p.y[end]-x <= d {
			end++
		}
		n += int64(end)
	}
	return n
}

// ordinal maps floating-point numbers to integers in the same order.
func ordinal(f float64) int64 {
	bits := int64(math.Float64bits(f + 0)) // +0 for -0
	if bits < 0 {
		return math.MinInt64 - bits
	}
	return bits
}

func number(n int64) float64 {
	if n < 0 {
		n = math.MinInt64 - n
	}
	return math.Float64frombits(uint64(n))
}
