package diff_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// Runs of the same program find nothing in 95 of 100 comparisons, also where each step takes
// about as long as the one before, for all correlations of neighbours, and where runs differ much.
func TestRunsOfDependentSteps(t *testing.T) {
	lengths := []int{12, 20, 50, 12, 20, 50, 200}
	for _, unit := range []diff.Unit{diff.UnitSteps, diff.UnitWindows, diff.UnitRuns} {
		for _, rho := range []float64{0, 0.3, 0.5, 0.7, 0.8, 0.9} {
			t.Run(fmt.Sprint(unit, " ", rho), func(t *testing.T) {
				pairs, alarms := cases.Count(t, 12, 1000), 0
				for seed := range uint64(pairs) {
					rng := rand.New(rand.NewPCG(seed, uint64(100*rho)))
					sim := simulation{names: six, steps: lengths[int(seed)%len(lengths)], within: 0.1, rho: rho, noStep: unit == diff.UnitWindows}
					n := 1
					if unit == diff.UnitRuns {
						n, sim.steps, sim.between = 7, 2, 0.2
					}
					r := check.Must(diff.Compare(sim.runs(t, rng, n, nil), sim.runs(t, rng, n, nil), diff.Options{}))(t)
					if r.Unit != unit {
						t.Fatalf("%s are compared", r.Unit)
					}
					if names := found(r); len(names) > 0 {
						alarms++
						t.Logf("pair %d, %d steps: %v", seed, sim.steps, names)
					}
				}
				if allowed := 0.05 * float64(pairs); float64(alarms) > allowed+2*math.Sqrt(allowed) {
					t.Errorf("%d of %d comparisons find something", alarms, pairs)
				}
				t.Logf("%d of %d", alarms, pairs)
			})
		}
	}
}
