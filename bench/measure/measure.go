// Package measure runs pieces of work beside one another and compares their
// costs.
//
// A machine's speed drifts, and other programs run on it. So the sides of a
// comparison take turns in short rounds; each round gives one ratio, and the
// median of the ratios is the result. A [Suite] is a set of sides that run in
// the same rounds. A [Measure] compares two of them, often over several kinds of
// data, and comes to a [Row]: the smallest ratio is the row's.
package measure

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Measure describes a row of the table.
type Measure struct {
	Name string
	// Limit is the reason why the ratio is not larger.
	Limit string
	// Cases are the comparisons, one for each kind of data.
	Cases []Case
	// Wall makes the time that passes the cost, in place of processor time.
	Wall bool
	// Target is what the ratio should reach; 0 for a figure without a target.
	Target float64
	// Allocs, where it is set, bounds the allocations of our side.
	Allocs *AllocTarget
}

// Case is a comparison of two sides of a suite.
type Case struct {
	// Data names the kind of data, "" where there is one only.
	Data       string
	Suite      *Suite
	Peer, Ours string
}

// Compare returns the cases of a measure with one kind of data.
func Compare(s *Suite, peer, ours string) []Case { return []Case{{Suite: s, Peer: peer, Ours: ours}} }

// Over makes a suite like s on each kind of data, for which open prepares the sides, and returns a function that
// returns the cases of two sides.
func Over[D any](s Suite, data []D, open func(context.Context, *Env, D) (*Opened, error)) func(peer, ours string) []Case {
	var all []Case
	for _, d := range data {
		own := s
		own.Name = fmt.Sprintf("%s, %v", s.Name, d)
		own.Open = func(ctx context.Context, env *Env) (*Opened, error) { return open(ctx, env, d) }
		all = append(all, Case{Data: fmt.Sprint(d), Suite: &own})
	}
	return func(peer, ours string) []Case {
		cases := slices.Clone(all)
		for i := range cases {
			cases[i].Peer, cases[i].Ours = peer, ours
		}
		return cases
	}
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

// Row is the outcome of a Measure, with the figures of the case that has the
// smallest ratio.
type Row struct {
	Measure Measure `json:"-"`
	Data    string  `json:"data,omitempty"`
	Figures
	Unit   string  `json:"unit"`
	Target float64 `json:"target,omitempty"`
	// Met reports whether the ratio reaches the target; it is nil without one.
	Met *bool `json:"met,omitempty"`
	// Allocs are the allocations of the last case in which our side has most, where the
	// Measure bounds them.
	Allocs *Allocs `json:"allocs,omitempty"`
	// Cases are the figures of each kind of data where there are several.
	Cases map[string]Figures `json:"cases,omitempty"`
}

// Figures are those of a comparison on one kind of data.
type Figures struct {
	Peer string `json:"peer"`
	Ours string `json:"ours"`
	// Ratio is the median of the rounds' ratios, and Min and Max their extremes.
	Ratio float64 `json:"ratio"`
	// PeerNS and OursNS are the medians of the costs, in nanoseconds per unit.
	PeerNS float64 `json:"peer_ns"`
	OursNS float64 `json:"ours_ns"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Allocs is how often both sides allocate, in the round with the fewest, and the
// bound, as an AllocTarget has it.
type Allocs struct {
	Per   string  `json:"per"`
	Peer  float64 `json:"peer"`
	Ours  float64 `json:"ours"`
	Max   float64 `json:"max"`
	Extra bool    `json:"extra"`
	Met   bool    `json:"met"`
}

// bounded returns the allocations that the bound is for.
func (a *Allocs) bounded() float64 {
	if a.Extra {
		return a.Ours - a.Peer
	}
	return a.Ours
}

// newRow compares the samples of the sides of each case.
func newRow(m Measure, samples func(Case, string) []Sample) Row {
	r := Row{Measure: m, Target: m.Target}
	if len(m.Cases) > 1 {
		r.Cases = map[string]Figures{}
	}
	for i, c := range m.Cases {
		peer, ours := samples(c, c.Peer), samples(c, c.Ours)
		p, o := m.costs(peer), m.costs(ours)
		ratios := make([]float64, len(p))
		for i := range ratios {
			ratios[i] = p[i] / o[i]
		}
		f := Figures{c.Peer, c.Ours, Median(ratios), Median(p), Median(o), slices.Min(ratios), slices.Max(ratios)}
		if r.Cases != nil {
			r.Cases[c.Data] = f
		}
		if i == 0 || f.Ratio < r.Ratio {
			r.Data, r.Figures, r.Unit = c.Data, f, c.Suite.Unit
		}
		if t := m.Allocs; t != nil {
			a := &Allocs{Per: t.PerName, Peer: t.Per * fewestAllocs(peer), Ours: t.Per * fewestAllocs(ours), Max: t.Max, Extra: t.Extra}
			// To a hundredth: a buffer that grows once is not an allocation per operation.
			a.Met = a.bounded() < a.Max+0.005
			if r.Allocs == nil || a.bounded() >= r.Allocs.bounded() {
				r.Allocs = a
			}
		}
	}
	if met := r.Ratio >= m.Target; m.Target > 0 {
		r.Met = &met
	}
	return r
}

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
	fewest := math.Inf(1)
	for _, s := range samples {
		fewest = min(fewest, float64(s.Allocs)/float64(s.N))
	}
	return fewest
}

// Median returns the value in the middle, or the mean of the two there; NaN
// without values.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
