package diff_test

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/internal/rank"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

type figures struct{ P, Delta, Low, High, Independent float64 }

// P-values, changes and intervals agree with a naive reference: for runs, steps and windows, with and without ties, and
// for the parts of the time.
func TestAgainstNaive(t *testing.T) {
	for i := range cases.Some(t, 50, 5000) {
		rng := rand.New(rand.NewPCG(uint64(i), 9))
		sim := tracetest.Simulation{
			Names: six[:1+rng.IntN(3)], Steps: 10 + rng.IntN(60), Between: 0.05,
			Within: []float64{0, 0.001, 0.1, 0.7}[rng.IntN(4)], Rho: rng.Float64() * 0.95,
			NoStep: rng.IntN(3) == 0, Tight: rng.IntN(3) == 0,
		}
		n := [2]int{1, 1}
		if rng.IntN(3) == 0 {
			n = [2]int{5 + rng.IntN(4), 5 + rng.IntN(4)}
			sim.NoStart = true
			sim.NoStep = true
			sim.Steps = 3
		}
		round := []int64{1, 5000}[rng.IntN(2)]
		var values [2]map[string][]float64
		var runs [2][]*diff.Run
		for side := range 2 {
			values[side] = map[string][]float64{}
			for range n[side] {
				entries := sim.Run(rng, map[string]float64{"matmul": 1 + 0.2*float64(side*rng.IntN(2))})
				for _, e := range entries {
					e.Duration -= e.Duration % round
				}
				runs[side] = append(runs[side], run(t, "run", entries, n == [2]int{1, 1}))
				naiveValues(values[side], entries, sim)
			}
		}
		r := check.Must(diff.Compare(runs[0], runs[1], diff.Options{}))(t)
		got := map[string]figures{}
		add := func(name string, c *diff.Comparison) {
			if c.P.Known && c.Unit != diff.UnitEntries {
				got[name] = figures{c.P.V, c.Delta.V, c.DeltaLow.V, c.DeltaHigh.V, c.Independent.V}
			}
		}
		for i := range r.Rows {
			add(r.Rows[i].Key.String(), &r.Rows[i].Comparison)
		}
		for i := range r.Parts {
			add(r.Parts[i].Part, &r.Parts[i].Comparison)
		}
		want := naiveFigures(values[0], values[1], n == [2]int{1, 1})
		name := encoded(t, map[string]any{"seed": i, "unit": r.Unit})
		check.Equal(t, name, want, got, cmpopts.EquateApprox(1e-5, 1e-8)) // ratios
	}
}

// naiveValues adds the values of a run: its mean, or a mean per block of steps or per window. Means of operations are
// of logarithms, means of parts of nanoseconds.
func naiveValues(values map[string][]float64, entries []*op.Entry, sim tracetest.Simulation) {
	type cell struct {
		name  string
		block int64
	}
	sum := make(map[cell]float64)
	n := make(map[cell]float64)
	first := entries[0].Start.V
	last := entries[len(entries)-1].Start.V
	steps := int64(sim.Steps)
	blocks := min(20, steps)
	begin := make(map[int64]int64)
	end := make(map[int64]int64)
	busy := make(map[int64]int64)
	for _, e := range entries {
		at := cell{name: e.Operation}
		switch {
		case sim.NoStart: // a value for the run
		case sim.NoStep:
			at.block = (e.Start.V - first) / ((last-first)/20 + 1)
		default:
			at.block = e.Step.V * blocks / steps
			if begin[e.Step.V] == 0 {
				begin[e.Step.V] = e.Start.V
			}
			end[e.Step.V] = e.Start.V + e.Duration
			busy[e.Step.V] += e.Duration
		}
		sum[at] += math.Log(math.Max(1, float64(e.Duration)))
		n[at]++
	}
	var gaps []int64 // to the next step
	for step := range begin {
		if next, ok := begin[step+1]; ok {
			gaps = append(gaps, next-end[step])
		}
	}
	slices.Sort(gaps)
	for step := range begin {
		wall := end[step] - begin[step]
		if next, ok := begin[step+1]; ok {
			wall = next - begin[step]
		} else if len(gaps) > 0 {
			wall += gaps[len(gaps)/2]
		}
		for name, ns := range map[string]int64{"wall": wall, "compute": busy[step], "idle": wall - busy[step]} {
			at := cell{name, step * blocks / steps}
			sum[at] += float64(ns)
			n[at]++
		}
	}
	for block := range int64(20) {
		for at := range n {
			if at.block == block {
				values[at.name] = append(values[at.name], sum[at]/n[at])
			}
		}
	}
}

func isPart(name string) bool { return name == "wall" || name == "compute" || name == "idle" }

func naiveFigures(base, head map[string][]float64, dependent bool) map[string]figures {
	all := map[string]figures{}
	for name, b := range base {
		h := head[name]
		n := min(len(b), len(h))
		switch {
		case n < 5, dependent && !isPart(name) && n < 10:
		case slices.Max(b) == 0 && slices.Max(h) == 0: // no idle time
		default:
			if f, ok := naiveRow(name, b, h, dependent); ok {
				all[name] = f
			}
		}
	}
	least := 0.0
	byP := func(a, b string) int { return cmp.Compare(all[a].P, all[b].P) }
	for i, name := range slices.SortedFunc(maps.Keys(all), byP) {
		f := all[name]
		least = max(least, min(1, f.P*float64(len(all)-i)))
		f.P = least
		all[name] = f
	}
	return all
}

// naiveRow compares two samples, of one run each if dependent is set. ok is false if their values depend on each other
// too much.
func naiveRow(name string, b, h []float64, dependent bool) (f figures, ok bool) {
	median := rank.Median(b)
	part := math.Expm1
	if isPart(name) {
		if min(slices.Min(b), slices.Min(h)) > 0 {
			logs := func(v []float64) (l []float64) {
				for _, x := range v {
					l = append(l, math.Log(x))
				}
				return l
			}
			b = logs(b)
			h = logs(h)
		} else {
			part = func(d float64) float64 { return max(-1, d/median) }
		}
	}
	in := rank.Shift(b, h, 0.05)
	all := float64(len(b) + len(h))
	p := rank.Test(b, h)
	shift, low, high := in.Estimate, in.Low, in.High
	f = figures{p, part(shift), part(low), part(high), all}
	if !dependent {
		return f, true
	}
	n := all / 2
	rho := ((naiveNeighbours(b)+naiveNeighbours(h))/2*n + 1) / (n - 4)
	if rho += 1.5 * math.Sqrt(max(0, 1-rho*rho)/(2*n)); rho >= 1 {
		return f, false
	}
	inflation := max(1, (1+rho)/(1-rho))
	if f.Independent /= inflation; f.Independent < 6 {
		return f, false
	}
	const z = 1.959963984540054
	freedom := f.Independent/2 - 1
	deviation := math.Sqrt(inflation / (1 - inflation/n))
	side := max(shift-low, 0)
	if shift < 0 {
		side = high - shift
	}
	if side > 0 {
		f.P = max(p, naiveStudent(freedom, math.Atan(math.Abs(shift)/(side/z*deviation)/math.Sqrt(freedom))))
	}
	from, to := 0.0, math.Pi/2
	for range 40 {
		if middle := (from + to) / 2; naiveStudent(freedom, middle) > 0.05 {
			from = middle
		} else {
			to = middle
		}
	}
	wider := math.Sqrt(freedom) * math.Tan(from) / z * deviation
	f.Low = part(shift - (shift-low)*wider)
	f.High = part(shift + (high-shift)*wider)
	return f, true
}

// naiveStudent returns the two-sided p-value of √freedom·tan(angle), by Simpson's rule.
func naiveStudent(freedom, angle float64) float64 {
	area := func(from float64) (sum float64) {
		const parts = 300
		for i := range parts + 1 {
			weight := []float64{2, 4}[i%2]
			if i == 0 || i == parts {
				weight = 1
			}
			at := float64(i) / parts
			sum += weight * at * math.Pow(math.Sin((math.Pi/2-from)*at*at), freedom-1)
		}
		return sum * (math.Pi/2 - from)
	}
	return area(angle) / area(0)
}

// naiveRanks returns twice the ranks of values, less 1.
func naiveRanks(v []float64) (ranks []int) {
	for _, x := range v {
		r := 0
		for _, y := range v {
			r += map[bool]int{true: 2}[y < x] + map[bool]int{true: 1}[y == x]
		}
		ranks = append(ranks, r)
	}
	return ranks
}

func naiveNeighbours(v []float64) float64 {
	var both, all float64
	ranks := naiveRanks(v)
	for i, r := range ranks {
		d := float64(r - len(v))
		all += d * d
		if i > 0 {
			both += d * float64(ranks[i-1]-len(v))
		}
	}
	return both / max(all, 1)
}
