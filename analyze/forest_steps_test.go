package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/internal/random"
	"github.com/optrace/optrace/op"
)

func TestSteps(t *testing.T) {
	tests := []struct {
		name  string
		specs []spec
		want  []Step
	}{
		{name: "no steps", specs: []spec{opAt("a", 1, 0, 0, 10)}},
		{
			name:  "C8: an ordinal per operation is no step",
			specs: []spec{opAt("a", 1, 0, 0, 10).inStep(0), opAt("b", 2, 0, 10, 20).inStep(1)},
		},
		{
			name: "steps over two devices, in ascending order, the host's view left out",
			specs: []spec{
				opAt("a", 1, 0, 100, 110).inStep(7), opAt("b", 2, 0, 0, 30).inStep(-2), opAt("c", 3, 0, 20, 50).inStep(-2).on("cuda:1"),
				opAt("d", 4, 0, 60, 70).inStep(-2), opAt("e", 5, 0, 0, 500).inStep(7).fromHost(), opAt("f", 6, 0, 0, 500),
			},
			want: []Step{
				{Step: -2, Count: 3, SumNS: 70, WallNS: op.Known(70), BusyNS: op.Known(60)},
				{Step: 7, Count: 1, SumNS: 10, WallNS: op.Known(10), BusyNS: op.Known(10)},
			},
		},
		{
			name: "without starts",
			specs: []spec{
				opAt("a", 1, 0, 0, 10).inStep(1).withoutStart(), opAt("b", 2, 0, 0, 5).inStep(1).withoutStart(),
				opAt("c", 3, 0, 0, 10).inStep(2).withoutStart(), opAt("d", 4, 0, 20, 25).inStep(2),
			},
			want: []Step{
				{Step: 1, Count: 2, SumNS: 15},
				{Step: 2, Count: 2, SumNS: 15, WallNS: op.Known(5), BusyNS: op.Known(5)},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, traceOf(tt.specs...).stepRows()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStepsAgainstNaive(t *testing.T) {
	random.Seeds(100, func(seed uint64, r *rand.Rand) {
		specs := randomSpecs(r, r.IntN(40))
		var want []Step
		several := false
		for number := range int64(3) {
			var mine []spec
			sum := int64(0)
			for _, s := range specs {
				if s.deviceSide() && s.step.Known && s.step.V == number {
					mine = append(mine, s)
					sum += s.end - s.start
				}
			}
			if len(mine) == 0 {
				continue
			}
			several = several || len(mine) > 1
			step := Step{Step: number, Count: int64(len(mine)), SumNS: sum}
			if p := naiveParts(mine); p != nil {
				step.WallNS, step.BusyNS = op.Known(p.Span), op.Known(p.Busy)
			}
			want = append(want, step)
		}
		if !several {
			want = nil
		}
		if diff := cmp.Diff(want, traceOf(specs...).stepRows()); diff != "" {
			t.Errorf("seed %d: steps (-want +got):\n%s", seed, diff)
		}
	})
}
