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

// P-values, changes and intervals agree with a naive reference: for runs, steps and entries, with and without ties,
// in pairs and for two levels, and for the parts of the time.
func TestAgainstNaive(t *testing.T) {
	for i := range cases.Some(t, 50, 2000) {
		rng := rand.New(rand.NewPCG(uint64(i), 9))
		sim := tracetest.Simulation{
			Names: six[:1+rng.IntN(3)], Steps: 10 + rng.IntN(60), Between: 0.05,
			Within: []float64{0, 0.001, 0.1, 0.7}[rng.IntN(4)], Rho: rng.Float64() * 0.95,
			NoStep: rng.IntN(3) == 0, Tight: rng.IntN(3) == 0, Drift: float64(rng.IntN(2)) * rng.Float64(),
			Slow: []float64{0, 0, 0, 2}[rng.IntN(4)], Switch: 0.05,
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
			if c.P.Known {
				got[name] = figures{c.P.V, c.Delta.V, c.DeltaLow.V, c.DeltaHigh.V, c.Independent.V}
			}
		}
		for i := range r.Rows {
			add(r.Rows[i].Key.String(), &r.Rows[i].Comparison)
		}
		for i := range r.Parts {
			add(r.Parts[i].Part, &r.Parts[i].Comparison)
		}
		want := naiveFigures(values[0], values[1], n == [2]int{1, 1}, sim.NoStep)
		name := encoded(t, map[string]any{"seed": i, "unit": r.Unit})
		check.Equal(t, name, want, got, cmpopts.EquateApprox(1e-5, 1e-8)) // ratios
	}
}

// naiveValues adds the values of a run: its mean, or a value per step or entry. Means of operations are of logarithms,
// of parts of nanoseconds.
func naiveValues(values map[string][]float64, entries []*op.Entry, sim tracetest.Simulation) {
	type cell struct {
		name  string
		block int64
	}
	sum := make(map[cell]float64)
	n := make(map[cell]float64)
	begin := make(map[int64]int64)
	end := make(map[int64]int64)
	busy := make(map[int64]int64)
	for _, e := range entries {
		at := cell{name: e.Operation}
		switch {
		case sim.NoStart: // a value for the run
		case sim.NoStep:
			for n[at] > 0 {
				at.block++
			}
		default:
			at.block = e.Step.V
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
			at := cell{name, step}
			sum[at] += float64(ns)
			n[at]++
		}
	}
	for block := range int64(sim.Steps) {
		for at := range n {
			if at.block == block {
				values[at.name] = append(values[at.name], sum[at]/n[at])
			}
		}
	}
}

func isPart(name string) bool { return name == "wall" || name == "compute" || name == "idle" }

func naiveFigures(base, head map[string][]float64, dependent, noStep bool) map[string]figures {
	all := map[string]figures{}
	weights := map[string]float64{}
	refused := dependent && !noStep && naiveTwo(base["compute"], head["compute"])
	for name, b := range base {
		h := head[name]
		switch {
		case slices.Max(b) == 0 && slices.Max(h) == 0: // no idle time
		case min(len(b), len(h)) < 5, refused:
			weights[name] = 1
		default:
			weights[name] = 1
			if f, ok := naiveRow(name, b, h, dependent); ok {
				all[name] = f
			}
		}
	}
	if _, ok := weights["wall"]; ok {
		weights["wall"] = float64(len(weights) - 1)
	}
	least := 0.0
	byP := func(a, b string) int { return cmp.Compare(all[a].P/weights[a], all[b].P/weights[b]) }
	names := slices.SortedFunc(maps.Keys(all), byP)
	for i, name := range names {
		f := all[name]
		left := 0.0
		for _, other := range names[i:] {
			left += weights[other]
		}
		least = max(least, min(1, f.P*left/weights[name]))
		f.P = least
		all[name] = f
	}
	return all
}

func naiveTwo(b, h []float64) bool {
	if min(slices.Min(b), slices.Min(h)) > 0 {
		b, h = naiveLogarithms(b), naiveLogarithms(h)
	}
	_, _, _, ok := naiveSeries(b, h)
	return !ok && (naiveCourse(b) == 2 || naiveCourse(h) == 2)
}

func naiveLogarithms(v []float64) (l []float64) {
	for _, x := range v {
		l = append(l, math.Log(x))
	}
	return l
}

// naiveRow compares two samples, of one run each if dependent is set. ok is false if they cannot be compared.
func naiveRow(name string, b, h []float64, dependent bool) (f figures, ok bool) {
	median := rank.Median(b)
	part := math.Expm1
	if isPart(name) {
		if min(slices.Min(b), slices.Min(h)) > 0 {
			b = naiveLogarithms(b)
			h = naiveLogarithms(h)
		} else {
			part = func(d float64) float64 { return max(-1, d/median) }
		}
	}
	in := rank.Shift(b, h, 0.05)
	f = figures{rank.Test(b, h), part(in.Estimate), part(in.Low), part(in.High), float64(len(b) + len(h))}
	if !dependent {
		return f, true
	}
	var p float64
	p, in, f.Independent, ok = naiveSeries(b, h)
	return figures{p, part(in.Estimate), part(in.Low), part(in.High), f.Independent}, ok
}

// naiveSeries compares series as they are, or else their differences.
func naiveSeries(b, h []float64) (p float64, in rank.Interval, independent float64, ok bool) {
	n := min(len(b), len(h))
	p, in, independent, ok = naiveDependent(b, h, 1)
	courses := []int{naiveCourse(b), naiveCourse(h)}
	ok = ok && slices.Max(courses) == 0
	if n < 30 || 10*n < 9*max(len(b), len(h)) {
		return p, in, independent, ok
	}
	together := 1e-9 + naiveProduct(naiveRanks(b[:n]), naiveRanks(h[:n]), 0)
	if !(together >= max(0.5, 4/math.Sqrt(float64(n)))) && (ok || slices.Max(courses) == 2) {
		return p, in, independent, ok
	}
	var minus, plus []float64
	for i := range n {
		plus = append(plus, (h[i]-b[i])/2)
		minus = append(minus, (b[i]-h[i])/2)
	}
	if p, in, independent, pairs := naiveDependent(minus, plus, 2); pairs && naiveCourse(plus) == 0 {
		return p, in, independent, true
	}
	return p, in, independent, ok
}

// naiveProduct returns the correlation of ranks, of b by lag places later.
func naiveProduct(a, b []int, lag int) float64 {
	var both, as, bs float64
	for i := range a {
		x := float64(a[i] - len(a))
		y := float64(b[i] - len(a))
		as += x * x
		bs += y * y
		if i >= lag {
			both += x * float64(b[i-lag]-len(a))
		}
	}
	if as*bs == 0 {
		return 0
	}
	return both / math.Sqrt(as*bs)
}

func naiveInflation(v []float64) float64 {
	ranks := naiveRanks(v)
	if slices.Min(ranks) == slices.Max(ranks) {
		return 1
	}
	n := float64(len(v))
	length := len(v) / 20
	if length < 2 {
		return naiveFirstOrder(naiveProduct(ranks, ranks, 1), n, 1.5)
	}
	times := naiveFirstOrder(naiveProduct(ranks, ranks, 1), n, 1)
	var means []float64
	var all, between, both float64
	for i, r := range ranks {
		x := float64(r - len(v))
		all += x * x / n
		if i%length == 0 {
			means = append(means, 0)
		}
		means[i/length] += x / float64(length)
	}
	means = means[:len(v)/length]
	for i, m := range means {
		between += m * m
		if i > 0 {
			both += m * means[i-1]
		}
	}
	count := float64(len(means))
	return max(times, between/(count-1)*float64(length)/all*naiveFirstOrder(both/between, count, 0))
}

func naiveFirstOrder(rho, n, errors float64) float64 {
	rho = (rho*n + 1) / (n - 4)
	if rho += errors * math.Sqrt(max(0, 1-rho*rho)/n); rho >= 1 || n <= 4 {
		return math.Inf(1)
	}
	return max(1, (1+rho)/(1-rho))
}

func naiveDependent(b, h []float64, factor float64) (p float64, in rank.Interval, independent float64, ok bool) {
	in = rank.Shift(b, h, 0.05)
	x := float64(len(b))
	y := float64(len(h))
	n := (x + y) / 2
	inflation := (naiveInflation(b)/x + naiveInflation(h)/y) * n / 2
	if independent = 2 * n / inflation; independent < 6 {
		return 1, in, independent, false
	}
	const z = 1.959963984540054
	freedom := independent/2 - 1
	deviation := math.Sqrt(factor * inflation / (1 - inflation/n))
	side := max(in.Estimate-in.Low, 0)
	if in.Estimate < 0 {
		side = in.High - in.Estimate
	}
	if p = rank.Test(b, h); side > 0 {
		t := math.Abs(in.Estimate) / (side / z * deviation)
		p = max(p, naiveStudent(freedom, math.Atan(t/math.Sqrt(freedom))))
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
	in.Low = in.Estimate - (in.Estimate-in.Low)*wider
	in.High = in.Estimate + (in.High-in.Estimate)*wider
	return p, in, independent, true
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

// naiveCourse returns 0 for a steady series, 1 for a drift and 2 for two levels: see TestCourse.
func naiveCourse(v []float64) int {
	switch c := rank.CourseOf(v); {
	case c.Two:
		return 2
	case c.Change > 0:
		return 1
	}
	return 0
}
