// Package measure runs pieces of work in turns and compares their costs.
//
// The speed of a machine drifts, and other programs run on it. Therefore the sides of a comparison
// take turns in short rounds. Each round gives one ratio, and the median of the ratios is the result.
// The sides of a [Suite] run in the same rounds. A [Measure] compares two of them over several kinds
// of data, and the smallest ratio becomes its [Row].
package measure

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
)

// Suite is a set of sides whose runs take turns.
type Suite struct {
	// Name appears in progress lines and errors.
	Name string
	Unit string // the unit of work, such as "op"
	// Rounds and QuickRounds count the measured runs of each side.
	Rounds, QuickRounds int
	// Cold omits the warm-up round, because each run starts a process.
	Cold bool
	// Open prepares the sides.
	Open func(ctx context.Context, env *Env) (*Opened, error)
}

// Opened is a suite that is ready to run. Check, After and Close may be nil.
type Opened struct {
	Sides map[string]Side
	// Check is called after the first round.
	Check func() error
	// After is called after the last round and returns further figures by name.
	After func(ctx context.Context) (map[string]float64, error)
	// Close releases the resources of the suite.
	Close func() error
}

// Side does a piece of work and returns its cost.
type Side func(ctx context.Context) (Sample, error)

// Env is common to all suites.
type Env struct {
	// Quick asks for less work. Trial asks for one round over few operations, which tests use.
	Quick, Trial bool
	Cache        string // the directory of prepared files and programs
	Optrace      string // the path of the command optrace; "" builds it
	// Progress receives lines of progress.
	Progress io.Writer
}

// Log writes a line of progress.
func (e *Env) Log(format string, args ...any) {
	fmt.Fprintf(e.Progress, "bench: "+format+"\n", args...)
}

// Size returns full, or quick in a quick run.
func (e *Env) Size(full, quick int) int {
	const trial = 2000
	switch {
	case e.Trial:
		return min(quick, trial)
	case e.Quick:
		return quick
	}
	return full
}

// Rounds returns the number of measured rounds.
func (e *Env) Rounds(full, quick int) int {
	if e.Trial {
		return 1
	}
	return e.Size(full, quick)
}

// UnavailableError reports that a suite cannot run on this machine.
type UnavailableError struct{ Need string }

// Error returns the need.
func (e *UnavailableError) Error() string { return "not run: needs " + e.Need }

// Measure describes a row of the table.
type Measure struct {
	Name  string
	Limit string // the reason why the ratio is not larger
	Cases []Case // the comparisons, one for each kind of data
	// Wall compares elapsed time instead of processor time.
	Wall   bool
	Target float64 // the ratio to reach; 0 sets no target
}

// Case is a comparison of two sides of a suite.
type Case struct {
	Data       string // names the kind of data
	Suite      *Suite
	Peer, Ours string
}

// Over makes a copy of s for each kind of data. open prepares the sides of one copy. The returned
// function makes the cases that compare two sides.
func Over[D any](s Suite, data []D,
	open func(context.Context, *Env, D) (*Opened, error)) func(peer, ours string) []Case {
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
			cases[i].Peer = peer
			cases[i].Ours = ours
		}
		return cases
	}
}

// Row is the outcome of a Measure, with the figures of the case that has the smallest ratio.
type Row struct {
	Measure Measure
	Data    string
	Figures
	Unit  string
	Cases map[string]Figures // holds the figures by kind of data
}

// Met reports whether the ratio reaches the target.
func (r *Row) Met() bool { return r.Ratio >= r.Measure.Target }

// Figures are the results of one case.
type Figures struct {
	// Ratio is the median of the ratios; Min and Max are their extremes.
	Ratio, Min, Max float64
	// PeerNS and OursNS are median costs in nanoseconds per unit.
	PeerNS, OursNS float64
}

// newRow compares the samples of the sides of each case.
func newRow(m Measure, samples func(Case, string) []Sample) Row {
	r := Row{Measure: m, Cases: map[string]Figures{}}
	for i, c := range m.Cases {
		p := m.costs(samples(c, c.Peer))
		o := m.costs(samples(c, c.Ours))
		ratios := make([]float64, len(p))
		for i := range ratios {
			ratios[i] = p[i] / o[i]
		}
		f := Figures{
			Ratio: Median(ratios), Min: slices.Min(ratios), Max: slices.Max(ratios), PeerNS: Median(p),
			OursNS: Median(o),
		}
		r.Cases[c.Data] = f
		if i == 0 || f.Ratio < r.Ratio {
			r.Data = c.Data
			r.Figures = f
			r.Unit = c.Suite.Unit
		}
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

// Median returns the middle value, or the mean of the two middle values. It returns NaN for an empty list.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
