package diff_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/diff"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// docs/analyses.md has a table of eight kinds of runs: in how many pairs of equal runs a change is found, and in how many
// pairs with slower operations a slower head. The test recomputes it, or a part of it.
func TestCalibration(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	text := check.Must(os.ReadFile("../../docs/analyses.md"))(t)
	for _, kind := range []struct {
		name string
		sim  tracetest.Simulation
	}{
		{"constant", tracetest.Simulation{}},
		{"normal, 5 %", tracetest.Simulation{Within: 0.05}},
		{"log-normal, 30 %", tracetest.Simulation{Within: 0.3}},
		{"heavy tail", tracetest.Simulation{Within: 0.02, Tail: 1 / 1.5}},
		{"drift, 30 %", tracetest.Simulation{Within: 0.05, Drift: 0.3}},
		{"clock states", tracetest.Simulation{Within: 0.02, Slow: 1.2, Switch: 1.0 / 67}},
		{"autocorrelated", tracetest.Simulation{Within: 0.1, Rho: 0.8}},
		{"few steps", tracetest.Simulation{Within: 0.05, Steps: 12}},
	} {
		line := regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(kind.name) + ` ( *[0-9]+ %){4}`).Find(text)
		listed := regexp.MustCompile(`[0-9]+ %`).FindAllString(string(line[len(kind.name):]), -1)
		listed = listed[len(listed)-4:]
		kind.sim.Names = six[:3]
		kind.sim.Steps = cmp.Or(kind.sim.Steps, 100)
		pairs := cases.Count(t, 4, 100)
		got := "    " + kind.name
		for column, slower := range []float64{0, 0.02, 0.05, 0.2} {
			factors := map[string]float64{six[0]: 1 + slower, six[1]: 1 + slower, six[2]: 1 + slower}
			n := 0
			for seed := range uint64(pairs) {
				rng := rand.New(rand.NewPCG(seed, 5))
				r := check.Must(diff.Compare(runs(t, kind.sim, rng, 1, nil), runs(t, kind.sim, rng, 1, factors),
					diff.Options{}))(t)
				if slower == 0 && len(found(r)) > 0 || slower > 0 && slices.Contains(found(r), "slower wall") {
					n++
				}
			}
			percent := 100 * n / pairs
			got += fmt.Sprintf("  %d %%", percent)
			want := check.Must(strconv.Atoi(strings.TrimSuffix(listed[column], " %")))(t)
			allowed := 5
			if !cases.All() {
				allowed = 50
			}
			if slower == 0 && percent > allowed || cases.All() && percent != want || max(percent-want,
				want-percent) > 90 {
				t.Errorf("%s, %v: %d %% of %d pairs, and %d %% in the table", kind.name, slower, percent, pairs, want)
			}
		}
		t.Log(got)
	}
}

// Runs of the same program give no finding in 95 of 100 comparisons, for any correlation of neighbouring steps, and for
// runs that differ much.
func TestRunsOfDependentSteps(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	lengths := []int{12, 20, 50, 12, 20, 50, 200}
	for _, unit := range []diff.Unit{diff.UnitSteps, diff.UnitEntries, diff.UnitRuns} {
		for _, rho := range []float64{0, 0.3, 0.5, 0.7, 0.8, 0.9} {
			t.Run(fmt.Sprint(unit, " ", rho), func(t *testing.T) {
				pairs := cases.Count(t, 12, 1000)
				alarms := 0
				for seed := range uint64(pairs) {
					rng := rand.New(rand.NewPCG(seed, uint64(100*rho)))
					sim := tracetest.Simulation{Names: six, Within: 0.1, Rho: rho}
					sim.Steps = lengths[int(seed)%len(lengths)]
					sim.NoStep = unit == diff.UnitEntries
					n := 1
					if unit == diff.UnitRuns {
						n = 7
						sim.Steps = 2
						sim.Between = 0.2
					}
					base := runs(t, sim, rng, n, nil)
					r := check.Must(diff.Compare(base, runs(t, sim, rng, n, nil), diff.Options{}))(t)
					check.Equal(t, "unit", unit, r.Unit)
					if names := found(r); len(names) > 0 {
						alarms++
						t.Logf("pair %d, %d steps: %v", seed, sim.Steps, names)
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

func BenchmarkCompareSteps(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 10))
	sim := tracetest.Simulation{Names: six, Steps: 200, Within: 0.1}
	base := runs(b, sim, rng, 1, nil)
	head := runs(b, sim, rng, 1, map[string]float64{"relu": 1.1})
	b.ReportAllocs()
	for b.Loop() {
		check.Must(diff.Compare(base, head, diff.Options{}))(b)
	}
}
