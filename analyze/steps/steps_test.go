package steps

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

const second = 1_000_000_000

// stepOp is an operation of a step on cuda:0 in trace 1, without a parent.
func stepOp(step, start, end int64) tracetest.Spec {
	return tracetest.OpAt("a", 0, 0, start, end).InStep(step)
}

func stepRow(step, run, count, sum, wall, busy int64) Row {
	return Row{
		Step: step, Run: run, Count: count, SumNS: sum, WallNS: op.Known(wall), BusyNS: op.Known(busy),
		ToNextNS: op.Known(wall), Source: SourceAttribute,
	}
}

func TestIterationsAreToldApart(t *testing.T) {
	tests := []struct {
		name  string
		specs []tracetest.Spec
		want  []Row
	}{
		{
			name: "a shared execution is apart from others of its engine",
			specs: []tracetest.Spec{
				tracetest.SpanAt("GET /", 1, 0, 0, 100), tracetest.SpanAt("GET /", 2, 0, 0, 100).In(2),
				tracetest.SpanAt("engine", 9, 0, 0, 100).In(3),
				tracetest.SpanAt("batch", 10, 9, 0, 30).In(3).To(1, 1).To(2, 2),
				tracetest.OpAt("a", 11, 10, 0, 10).InStep(0).In(3),
				tracetest.SpanAt("batch", 20, 9, 5, 30).In(3).To(1, 1).To(2, 2),
				tracetest.OpAt("a", 21, 20, 5, 25).InStep(0).In(3),
				tracetest.OpAt("a", 12, 10, 20, 30).InStep(0).In(3), tracetest.OpAt("a", 13, 9, 40, 50).InStep(0).In(3),
			},
			want: []Row{stepRow(0, 1, 2, 20, 30, 20), stepRow(0, 2, 1, 20, 20, 20), stepRow(0, 3, 1, 10, 10, 10)},
		},
		{
			name: "a duplicate belongs to the request of the first",
			specs: []tracetest.Spec{
				tracetest.SpanAt("GET /", 1, 0, 0, 100), tracetest.OpAt("a", 2, 1, 0, 10).InStep(0),
				tracetest.OpAt("a", 2, 0, 20, 30).InStep(0),
				stepOp(0, 40, 50),
			},
			want: []Row{stepRow(0, 1, 2, 20, 30, 20), stepRow(0, 2, 1, 10, 10, 10)},
		},
		{
			name: "the ends of time",
			specs: []tracetest.Spec{
				stepOp(0, -trace.MaxTime, -trace.MaxTime+1), stepOp(0, trace.MaxTime-1, trace.MaxTime).In(2),
				stepOp(0, trace.MaxTime-1, trace.MaxTime).In(2),
			},
			want: []Row{stepRow(0, 1, 1, 1, 1, 1), stepRow(0, 2, 2, 2, 1, 1)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check.Equal(t, "steps", tt.want, Rows(tracetest.AddTo(trace.New(), tt.specs...)),
				cmpopts.IgnoreFields(Row{}, "StartNS"))
		})
	}
}

func TestStepsAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		specs := tracetest.Loops(r)
		rows := Rows(tracetest.AddTo(trace.New(), specs...))
		for i := range rows {
			rows[i].ToNextNS = op.Int{}
		}
		check.Equal(t, fmt.Sprintf("seed %d: steps", seed), naiveSteps(specs), rows)
	})
}

// The last step pauses for the median time. Where steps do not follow each other, no step pauses.
func TestTimeToTheNextStep(t *testing.T) {
	for _, tt := range []struct{ steps, want []int64 }{
		{[]int64{0, 1, 2, 3}, []int64{30, 10, 21, 15}},
		{[]int64{0, 0, 0, 0}, []int64{10, 5, 20, 10}},
	} {
		var times []Time
		for i, at := range [][2]int64{{0, 10}, {30, 35}, {40, 60}, {61, 71}} {
			times = append(times, Time{"", tt.steps[i], at[0], at[1]})
		}
		var got []int64
		for i, gap := range Gaps(times) {
			got = append(got, times[i].EndNS-times[i].StartNS+gap)
		}
		check.Equal(t, "times to the next step", tt.want, got)
	}
}

func BenchmarkFindSteps(b *testing.B) {
	forest := tracetest.AddTo(trace.New(), tracetest.ServerRequests(200, 100)...)
	forest.Build()
	b.ReportAllocs()
	for b.Loop() {
		Rows(forest)
	}
}
