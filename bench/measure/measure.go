// Package measure runs pieces of work beside one another and compares their
// costs.
//
// A machine's speed drifts, and other programs run on it. So the sides of a
// comparison take turns in short rounds; each round gives one ratio, and the
// median of the ratios is the result. A [Suite] is a set of sides that run in
// the same rounds. A [Measure], a row of the table, compares two of them, often
// over several kinds of data: the smallest ratio is then the row's.
package measure

import (
	"math"
	"slices"
)

// Measure is a row of the table.
type Measure struct {
	Name string
	// What describes the comparison in a few words, and Limit the reason why the
	// ratio is not larger.
	What, Limit string
	// Cases are the comparisons, one for each kind of data.
	Cases []Case
	// Wall makes the time that passes the cost, in place of processor time.
	Wall bool
	// Target is what the ratio should reach; 0 for a figure without a target.
	Target float64
	// Allocs, where it is set, bounds the allocations of our side.
	Allocs *AllocTarget
	// LongOnly leaves the measure out of quick runs.
	LongOnly bool
}

// Case is a comparison of two sides of a suite.
type Case struct {
	// Data names the kind of data, "" where there is one only.
	Data       string
	Suite      *Suite
	Peer, Ours string
	// Less, where it is set, is a side whose cost in each round is subtracted
	// from the peer's.
	Less string
}

// Compare returns the cases of a measure with one kind of data.
func Compare(s *Suite, peer, ours string) []Case { return []Case{{Suite: s, Peer: peer, Ours: ours}} }

// sides returns the names of the sides that the case needs.
func (c *Case) sides() []string {
	if c.Less != "" {
		return []string{c.Peer, c.Ours, c.Less}
	}
	return []string{c.Peer, c.Ours}
}

// AllocTarget bounds allocations.
type AllocTarget struct {
	// Per is how many units of the suite the bound is for, and PerName their
	// name, such as 512 and "batch".
	Per     float64
	PerName string
	// Max is the bound; with Extra it is for what we allocate beyond the peer.
	Max   float64
	Extra bool
}

// Result is the outcome of a Measure.
type Result struct {
	Measure
	// Cases are in the order of the Measure's.
	Cases []CaseResult
}

// CaseResult is the outcome of a Case.
type CaseResult struct {
	Case
	Ratio Ratio
	// PeerNS and OursNS are the medians of the costs, in nanoseconds per unit; in
	// bytes where these are the cost.
	PeerNS, OursNS float64
	// PeerAllocs and OursAllocs are allocations per unit, or per AllocTarget.Per
	// of them, of the round with the fewest.
	PeerAllocs, OursAllocs float64
}

// Worst returns the case with the smallest ratio.
func (r *Result) Worst() CaseResult {
	return slices.MinFunc(r.Cases, func(a, b CaseResult) int {
		if a.Ratio.Median < b.Ratio.Median {
			return -1
		}
		return 1
	})
}

// Met reports whether the smallest ratio reaches the target.
func (r *Result) Met() bool { return r.Worst().Ratio.Median >= r.Target }

// MostAllocs returns the case in which our side allocates most.
func (r *Result) MostAllocs() CaseResult {
	return slices.MaxFunc(r.Cases, func(a, b CaseResult) int {
		if r.boundedAllocs(a) < r.boundedAllocs(b) {
			return -1
		}
		return 1
	})
}

// boundedAllocs returns the allocations that the bound is for.
func (r *Result) boundedAllocs(c CaseResult) float64 {
	if r.Allocs != nil && r.Allocs.Extra {
		return c.OursAllocs - c.PeerAllocs
	}
	return c.OursAllocs
}

// AllocsMet reports whether the allocations stay within their bound in all cases,
// to a hundredth: a buffer that grows once is not an allocation per operation.
func (r *Result) AllocsMet() bool {
	const rounding = 0.005
	return r.Allocs == nil || r.boundedAllocs(r.MostAllocs()) < r.Allocs.Max+rounding
}

// newResult compares the samples of the sides of each case.
func newResult(m Measure, samples func(Case, string) []Sample) Result {
	r := Result{Measure: m}
	for _, c := range m.Cases {
		peer, ours := samples(c, c.Peer), samples(c, c.Ours)
		p, o := m.costs(peer), m.costs(ours)
		if c.Less != "" {
			for i, less := range m.costs(samples(c, c.Less)) {
				p[i] -= less
			}
		}
		per := 1.0
		if m.Allocs != nil {
			per = m.Allocs.Per
		}
		r.Cases = append(r.Cases, CaseResult{
			Case: c, Ratio: Summarise(Ratios(p, o)), PeerNS: Median(p), OursNS: Median(o),
			PeerAllocs: per * fewestAllocs(peer), OursAllocs: per * fewestAllocs(ours),
		})
	}
	return r
}

// costs returns the nanoseconds per unit of each sample.
func (m *Measure) costs(samples []Sample) []float64 {
	costs := make([]float64, len(samples))
	for i, x := range samples {
		t := x.CPU
		if m.Wall {
			t = x.Wall
		}
		costs[i] = float64(t.Nanoseconds()) / float64(x.N)
	}
	return costs
}

// fewestAllocs returns allocations per unit. The fewest are the work's own: more
// come from the runtime and from buffers that grow.
func fewestAllocs(samples []Sample) float64 {
	fewest := 0.0
	for i, s := range samples {
		if n := float64(s.Allocs) / float64(s.N); i == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest
}

// Ratio sums up the ratios of several rounds.
type Ratio struct {
	Median, Min, Max float64
}

// Ratios returns the ratio of each round: the cost of the peer by ours, so that
// more is better. Both must have the same length.
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
