package rank

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// The p-values agree with SciPy.
func TestReference(t *testing.T) {
	text := check.Must(os.ReadFile("testdata/reference.json"))(t)
	var reference struct {
		Cases []struct {
			Name string
			X, Y []float64
			P    float64
		}
	}
	check.OK(t, json.Unmarshal(text, &reference))
	for _, c := range reference.Cases {
		if c.Name == "equal" {
			continue // see TestEqualValues
		}
		for _, p := range []float64{Test(c.X, c.Y), Test(c.Y, c.X)} {
			if math.Abs(p-c.P) > 1e-9*c.P {
				t.Errorf("%s: p is %v, want %v", c.Name, p, c.P)
			}
		}
	}
}

// The example of Hollander and Wolfe (1973), page 69, as R's manual has it: U is 35, and the one-sided p-value 0.1272.
func TestPublishedExample(t *testing.T) {
	x := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	y := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	if p := Test(y, x); math.Abs(p-2*0.1272) > 1e-4 {
		t.Errorf("p is %v", p)
	}
	shift := Shift(y, x, 0.05)
	if math.Abs(shift.Estimate-0.305) > 1e-9 {
		t.Errorf("the shift is %v", shift)
	}
}

// Samples of equal values have no shift.
func TestEqualValues(t *testing.T) {
	for _, n := range []int{1, 5, 30} {
		x := slices.Repeat([]float64{7}, n)
		check.Equal(t, fmt.Sprintf("%d values: p", n), 1, Test(x, x))
		check.Equal(t, fmt.Sprintf("%d values: the shift", n), Interval{}, Shift(x, x, 0.05))
	}
	check.Equal(t, "without values p", 1, Test(nil, []float64{1}))
}

// The interval contains the true shift with its confidence, also in the normal approximation.
func TestIntervalCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, size := range [][2]int{{5, 5}, {8, 12}, {20, 20}, {40, 30}} {
		rounds := cases.Count(t, 100, 400)
		shift := 0.7
		held := 0
		for range rounds {
			x := make([]float64, size[0])
			y := make([]float64, size[1])
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			for i := range y {
				y[i] = rng.NormFloat64() + shift
			}
			in := Shift(x, y, 0.05)
			if in.Low <= shift && shift <= in.High {
				held++
			}
			for bound, within := range map[float64]float64{in.Low: 1e-9, in.High: -1e-9} {
				p := func(shift float64) float64 {
					moved := slices.Clone(y)
					for i := range moved {
						moved[i] -= shift
					}
					return Test(x, moved)
				}
				least := 0.04
				most := 0.06 // the normal distribution is near
				if len(x)+len(y) <= maxExact {
					least = 0.05
					most = 0.05
				}
				if p(bound+within) <= least || p(bound-within) > most {
					t.Errorf("%v: %v has the bound %v", size, in, bound)
				}
			}
		}
		if off := math.Abs(float64(held) - 0.95*float64(rounds)); off > 3*math.Sqrt(0.95*0.05*float64(rounds)) {
			t.Errorf("%v: %d of %d intervals hold the shift", size, held, rounds)
		}
	}
}

func TestLeastP(t *testing.T) {
	for _, tt := range []struct {
		m, n int
		want float64
	}{{1, 1, 1}, {4, 4, 2.0 / 70}, {5, 5, 2.0 / 252}, {7, 7, 2.0 / 3432}, {5, 7, 2.0 / 792}} {
		x := make([]float64, tt.m)
		y := make([]float64, tt.n)
		for i := range x {
			x[i] = float64(i)
		}
		for i := range y {
			y[i] = float64(100 + i)
		}
		got := LeastP(tt.m, tt.n)
		p := Test(x, y)
		if math.Abs(got-tt.want) > 1e-15 || math.Abs(got-p) > 1e-12 {
			t.Errorf("%d and %d: %v, want %v; the test says %v", tt.m, tt.n, got, tt.want, p)
		}
	}
	if p := LeastP(30, 30); p > 1e-9 {
		t.Errorf("30 and 30: %v", p)
	}
}
