package steps

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestStepsAreDescribed(t *testing.T) {
	marked := func(s tracetest.Spec, name, phase string) tracetest.Spec {
		s.StepName = name
		s.Phase = phase
		return s
	}
	const (
		mixed  = "execute_context_1(512)_generation_2(2)"
		range0 = "one batch"
	)
	rows := Rows(tracetest.AddTo(trace.New(),
		marked(stepOp(0, 0, 10), mixed, "mixed"), marked(stepOp(0, 10, 20), mixed, "communication"),
		marked(stepOp(1, 20, 30), range0, "forward"), marked(stepOp(1, 30, 40), range0, "forward"),
		marked(stepOp(2, 40, 50), mixed, "mixed"),
		marked(stepOp(2, 45, 50).On("cuda:1"), "execute_context_0(0)_generation_2(2)", "decode"),
		marked(stepOp(3, 60, 70), "", "decode"),
	))
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(r.Step, " ", r.Name, " ", r.Source, " ", r.Phase, " ", r.Tokens, " ", r.Requests))
	}
	unknown := op.Int{}.String()
	check.Equal(t, "steps", []string{
		"0 " + mixed + " annotation mixed 514 3",
		"1 " + range0 + " range forward " + unknown + " " + unknown,
		"2 " + mixed + " annotation mixed " + unknown + " " + unknown,
		"3  attribute decode " + unknown + " " + unknown,
	}, got)
}

// The rows divide the operations among any steps and phases.
func TestPhasesAgainstNaive(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		specs := tracetest.Loops(r)
		for i := range specs {
			specs[i].Phase = tracetest.Pick(r, "", "prefill", "decode")
			if specs[i].Step.Known {
				specs[i].StepName = fmt.Sprintf("execute_context_0(0)_generation_1(%d)", specs[i].Step.V+1)
			}
		}
		forest := tracetest.AddTo(trace.New(), specs...)
		check.Equal(t, fmt.Sprintf("seed %d: phases", seed), naivePhases(specs), Phases(forest, Rows(forest)))
	})
}

func naivePhases(specs []tracetest.Spec) []Phase {
	var table []Phase
	some := false
	named := slices.ContainsFunc(specs, func(s tracetest.Spec) bool { return s.Step.Known && s.DeviceSide() })
	for _, phase := range []string{"", "decode", "prefill"} {
		row := Phase{Phase: key.Value{Text: phase, Known: phase != ""}}
		for _, s := range specs {
			if s.DeviceSide() && s.Phase == phase {
				row.Count++
				row.SumNS += s.End - s.Start
			}
		}
		for _, service := range []string{"", "api"} {
			for step := range int64(4) {
				for _, ops := range naiveIterations(specs, service, step) {
					if slices.ContainsFunc(ops, func(s tracetest.Spec) bool { return s.Phase == phase }) {
						row.Steps++
					}
					if phase == "decode" && named { // by the names of the steps
						row.Tokens = op.Known(row.Tokens.V + step + 1)
					}
				}
			}
		}
		if row.Count > 0 {
			some = some || phase != ""
			table = append(table, row)
		}
	}
	if !some {
		return nil
	}
	slices.SortStableFunc(table, func(a, b Phase) int {
		if a.SumNS != b.SumNS {
			return int(b.SumNS - a.SumNS)
		}
		return strings.Compare(a.Phase.Text, b.Phase.Text)
	})
	return table
}

func TestSteadyAgainstNaive(t *testing.T) {
	cases.Seeds(t, 400, func(seed uint64, r *rand.Rand) {
		var rows []Row
		var walls []int64
		level := int64(100)
		for i := range r.Int64N(40) {
			if r.IntN(12) == 0 {
				level = 50 + r.Int64N(200)
			}
			wall := level + r.Int64N(15)
			if r.IntN(8) == 0 {
				wall *= 4
			}
			walls = append(walls, wall)
			rows = append(rows, stepRow(i, 1, 1, 1, wall, 1))
		}
		check.Equal(t, fmt.Sprintf("seed %d: %v", seed, walls), naiveSteady(walls), SteadyOf(rows))
	})
}

func naiveSteady(walls []int64) *Steady {
	median := func(list []int64) int64 {
		list = slices.Clone(list)
		slices.Sort(list)
		return list[(len(list)-1)/2]
	}
	near := func(a, b int64) bool { return float64(a) <= 1.2*float64(b)+1e-9 && float64(b) <= 1.2*float64(a)+1e-9 }
	for n := len(walls); n >= 5; n-- {
		for from := 0; from+n <= len(walls); from++ {
			run := walls[from : from+n]
			steady := true
			for i := 0; i+5 <= n; i++ {
				for j := 0; j+5 <= n; j++ {
					steady = steady && near(median(run[i:i+5]), median(run[j:j+5]))
				}
			}
			if !steady {
				continue
			}
			middle, to := median(run), from+n
			for ; from < to && !near(walls[from], middle); from++ {
			}
			for ; from < to && !near(walls[to-1], middle); to-- {
			}
			if to-from < 8 {
				return nil
			}
			return &Steady{
				FirstStep: int64(from), LastStep: int64(to - 1), Steps: int64(to - from),
				LeftOut: int64(len(walls) - to + from), MedianNS: median(walls[from:to]),
			}
		}
	}
	return nil
}
