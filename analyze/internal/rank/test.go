package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

// maxExact is the largest total number of values with an exact distribution of ranks. Above it the normal
// approximation is used.
const maxExact = 40

// Test returns the p-value of the two-sided Mann–Whitney U test: the probability of ranks at least as uneven if both
// samples come from one distribution. It is 1 for an empty sample.
func Test(x, y []float64) float64 {
	m := len(x)
	n := len(y)
	if m == 0 || n == 0 {
		return 1
	}
	ranks, ties := doubledRanks(x, y)
	sum := 0
	for _, r := range ranks[:m] {
		sum += r
	}
	if m+n <= maxExact {
		return exact(ranks, m, sum)
	}
	u := float64(sum)/2 - float64(m)*float64(m+1)/2
	mn := float64(m) * float64(n)
	all := float64(m + n)
	variance := mn / 12 * (all + 1 - ties/(all*(all-1)))
	if variance <= 0 {
		return 1 // all values are equal
	}
	z := max(0, math.Abs(u-mn/2)-0.5) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}

// doubledRanks returns twice the ranks of the values of x and then of y; the smallest is 2. Equal values share their
// mean rank. ties is the sum of t³-t over groups of t equal values.
func doubledRanks(x, y []float64) (ranks []int, ties float64) {
	values := slices.Concat(x, y)
	sorted := order.Numbers(len(values), func(a, b int32) int { return cmp.Compare(values[a], values[b]) })
	ranks = make([]int, len(values))
	from := 0
	for tied := range order.RunsOf(sorted, func(v *int32) float64 { return values[*v] }) {
		for _, v := range tied {
			ranks[v] = 2*from + 1 + len(tied)
		}
		t := float64(len(tied))
		ties += t*t*t - t
		from += len(tied)
	}
	return ranks, ties
}

// exact returns the probability that m random ranks have a sum at least as far from the middle as sum.
func exact(ranks []int, m, sum int) float64 {
	counts := subsetSums(ranks, m)
	var below, above, all float64
	for s, n := range counts {
		all += n
		if s <= sum {
			below += n
		}
		if s >= sum {
			above += n
		}
	}
	return min(1, 2*min(below, above)/all)
}

// subsetSums returns the number of sets of m ranks for each sum.
func subsetSums(ranks []int, m int) []float64 {
	most := 0
	sorted := slices.Sorted(slices.Values(ranks))
	for _, r := range sorted[len(sorted)-m:] {
		most += r
	}
	counts := make([][]float64, m+1) // by the number of ranks and their sum
	for i := range counts {
		counts[i] = make([]float64, most+1)
	}
	counts[0][0] = 1
	for taken, r := range ranks {
		for k := min(m, taken+1); k > 0; k-- {
			for s := most; s >= r; s-- {
				counts[k][s] += counts[k-1][s-r]
			}
		}
	}
	return counts[m]
}

// LeastP returns the smallest possible p-value for samples of m and n values without ties.
func LeastP(m, n int) float64 {
	if m+n > maxExact {
		mn := float64(m) * float64(n)
		return math.Erfc((mn/2 - 0.5) / math.Sqrt(mn*float64(m+n+1)/12) / math.Sqrt2)
	}
	sets := 1.0 // m+n over m
	for i := 1; i <= m; i++ {
		sets = sets * float64(n+i) / float64(i)
	}
	return min(1, 2/sets)
}

// Holm returns adjusted p-values for simultaneous tests with positive weights: for findings with p up to α, the
// probability of any false one is at most α. A test with more weight is adjusted less.
func Holm(p, weights []float64) []float64 {
	adjusted := make([]float64, len(p))
	left := 0.0
	for _, w := range weights {
		left += w
	}
	least := 0.0
	byWeight := func(a, b int32) int { return cmp.Compare(p[a]/weights[a], p[b]/weights[b]) }
	for _, at := range order.Numbers(len(p), byWeight) {
		least = max(least, min(1, p[at]/weights[at]*left))
		adjusted[at] = least
		left -= weights[at]
	}
	return adjusted
}

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

// boundary returns the position of the interval's lower bound among the sorted differences, counted from 1. The upper
// bound has the same position from the end.
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

// upTo counts the differences of at most d.
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
