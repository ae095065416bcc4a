package diff_test

import (
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

// The table of docs/analyses.md lists the slow-down found by four of five comparisons. The test checks the whole table,
// or a few of its cells with fewer comparisons.
func TestPower(t *testing.T) {
	text := check.Must(os.ReadFile("../../docs/analyses.md"))(t)
	type cell struct {
		row    string
		column int
		sim    tracetest.Simulation
	}
	sizes := []int{12, 50, 200}
	table := make(map[string][]string)
	var cells []cell
	for _, noise := range []float64{0.05, 0.1, 0.2} {
		for _, row := range []string{"steps", "steps, ρ 0.5", "runs"} {
			for column, n := range sizes {
				s := tracetest.Simulation{Names: []string{"matmul", "softmax", "relu"}, Steps: n, Within: noise}
				if row == "steps, ρ 0.5" {
					s.Rho = 0.5
				}
				name := fmt.Sprintf("%s, noise %.0f %%", row, 100*noise)
				cells = append(cells, cell{name, column, s})
				table[name] = make([]string, len(sizes))
			}
		}
	}
	rounds := cases.Count(t, 5, 20)
	few := 2
	if cases.All() {
		few = len(cells)
	}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(len(cells))[:few] {
		c := cells[i]
		var least []float64
		for seed := range uint64(rounds) {
			least = append(least, leastFound(t, c.sim, sizes[c.column], strings.HasPrefix(c.row, "runs"), seed))
		}
		slices.Sort(least)
		got := 100 * least[rounds*4/5-1]
		table[c.row][c.column] = fmt.Sprintf("%.1f %%", got)
		want := math.NaN()
		line := regexp.MustCompile(`(?m)^    ` + regexp.QuoteMeta(c.row) + ` .*$`).FindString(string(text))
		if figures, ok := strings.CutPrefix(line, "    "+c.row); ok {
			percents := regexp.MustCompile(`([0-9.]+|more than 100) %`).FindAllStringSubmatch(figures, -1)
			want, _ = strconv.ParseFloat(percents[c.column][1], 64)
		}
		if off := math.Abs(math.Log(got / want)); !(off < 0.1) && (cases.All() || !(off < 0.7)) {
			t.Errorf("%s, %d a side: %.1f %%, and %v %% in the table", c.row, sizes[c.column], got, want)
		}
	}
	for _, c := range cells {
		if c.column == 0 {
			t.Logf("%-26s %s", c.row, strings.Join(table[c.row], "  "))
		}
	}
}

// leastFound returns the smallest slow-down that is found between two sides of n steps or runs, 1 if none is.
func leastFound(t *testing.T, sim tracetest.Simulation, n int, ofRuns bool, seed uint64) float64 {
	t.Helper()
	sides := 1
	if ofRuns {
		sim.Steps = 1
		sim.Between = sim.Within
		sim.Within = 0
		sides = n
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	base := runs(t, sim, rng, sides, nil)
	low := 0.0
	high := 1.0
	for high-low > 0.03*high && high > 0.005 {
		slower := (low + high) / 2
		head := runs(t, sim, rand.New(rand.NewPCG(seed, 1)), sides, map[string]float64{"softmax": 1 + slower})
		r := check.Must(diff.Compare(base, head, diff.Options{}))(t)
		if slices.Contains(found(r), "slower softmax") {
			high = slower
		} else {
			low = slower
		}
	}
	return high
}

// Runs of the same program give no finding in 95 of 100 comparisons, for any correlation of neighbouring steps, and for
// runs that differ much.
func TestRunsOfDependentSteps(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	lengths := []int{12, 20, 50, 12, 20, 50, 200}
	for _, unit := range []diff.Unit{diff.UnitSteps, diff.UnitWindows, diff.UnitRuns} {
		for _, rho := range []float64{0, 0.3, 0.5, 0.7, 0.8, 0.9} {
			t.Run(fmt.Sprint(unit, " ", rho), func(t *testing.T) {
				pairs := cases.Count(t, 12, 1000)
				alarms := 0
				for seed := range uint64(pairs) {
					rng := rand.New(rand.NewPCG(seed, uint64(100*rho)))
					sim := tracetest.Simulation{Names: six, Within: 0.1, Rho: rho}
					sim.Steps = lengths[int(seed)%len(lengths)]
					sim.NoStep = unit == diff.UnitWindows
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
