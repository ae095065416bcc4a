package rank

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// Two levels and drifts are found where they are. Noise, outliers, a slow start and values in turns are steady.
func TestCourse(t *testing.T) {
	for name, tt := range map[string]struct {
		of   func(i int, noise *rand.Rand) float64
		want Course
		near int
	}{
		"constant": {func(int, *rand.Rand) float64 { return 7 }, Course{}, 0},
		"noise":    {func(_ int, r *rand.Rand) float64 { return r.NormFloat64() }, Course{}, 0},
		"outliers": {func(_ int, r *rand.Rand) float64 { return math.Tan(math.Pi * (r.Float64() - 0.5)) }, Course{}, 0},
		"start": {func(i int, r *rand.Rand) float64 {
			return r.NormFloat64() + 50*float64(max(0, 5-i))
		}, Course{}, 0},
		"turns": {func(i int, r *rand.Rand) float64 { return float64(i%3)*50 + r.NormFloat64() }, Course{}, 0},
		"levels": {func(i int, r *rand.Rand) float64 { return float64(i/30%2)*9 + r.NormFloat64() },
			Course{Two: true}, 30},
		"drift": {func(i int, r *rand.Rand) float64 { return float64(i)/20 + r.NormFloat64() }, Course{}, 50},
	} {
		found := 0
		rng := rand.New(rand.NewPCG(1, 11))
		for range 100 {
			values := make([]float64, 100)
			for i := range values {
				values[i] = tt.of(i, rng)
			}
			if c := CourseOf(values); c.Two == tt.want.Two && max(c.Change-tt.near, tt.near-c.Change) <= 20 {
				found++
			}
		}
		if found < 90 {
			t.Errorf("%s: %d of 100", name, found)
		}
	}
}

// Common drifts are compared in pairs, with the true shift. Levels of one series only prevent a comparison.
func TestSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 12))
	series := func(at func(i int) float64) []float64 {
		values := make([]float64, 100)
		for i := range values {
			values[i] = at(i) + rng.NormFloat64()
		}
		return values
	}
	drift := func(i int) float64 { return float64(i) / 2 }
	c := Series(series(drift), series(func(i int) float64 { return 1 + drift(i) }), 0.05)
	if !c.OK || !c.Paired || c.P > 1e-6 || math.Abs(c.Shift.Estimate-1) > 0.5 || c.Shift.High-c.Shift.Low > 1 {
		t.Errorf("a common drift: %+v", c)
	}
	levels := func(i int) float64 { return float64(i/40%2) * 20 }
	c = Series(series(func(int) float64 { return 0 }), series(levels), 0.05)
	check.Equal(t, "levels of one series", []bool{false, false, true}, []bool{c.OK, c.X.Two, c.Y.Two})
	c = Series(series(levels), series(levels), 0.05)
	check.Equal(t, "levels of both", []bool{true, true}, []bool{c.OK, c.Paired})
}

// Weights divide α: with equal ones Holm's own method is a special case.
func TestHolm(t *testing.T) {
	equal := Holm([]float64{0.01, 0.04, 0.03}, []float64{2, 2, 2})
	check.Equal(t, "equal", []float64{0.03, 0.06, 0.06}, equal)
	got := Holm([]float64{0.02, 0.01}, []float64{3, 1})
	slices.Sort(got)
	check.Equal(t, "unequal", []float64{0.02 / 3 * 4, 0.02 / 3 * 4}, got)
}
