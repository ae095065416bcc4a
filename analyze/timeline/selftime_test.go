package timeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// selfTimes returns the self time of each operation by name.
func namedTimes(forest *trace.Forest) map[string]int64 {
	times := make(map[string]int64)
	for n, self := range selfTimes(forest) {
		times[n.Name()] = self
	}
	return times
}

func TestSelfTimes(t *testing.T) {
	tests := []struct {
		name  string
		specs []tracetest.Spec
		want  map[string]int64
	}{
		{
			name: "children that overlap count once",
			specs: []tracetest.Spec{
				tracetest.OpAt("relu", 1, 0, 0, 100), tracetest.OpAt("matmul", 2, 1, 10, 50), tracetest.OpAt("softmax", 3, 1, 40, 70),
			},
			want: map[string]int64{"relu": 40, "matmul": 40, "softmax": 30},
		},
		{
			name: "C7: a child that outlives its parent is clipped, one outside does not count",
			specs: []tracetest.Spec{
				tracetest.OpAt("launch", 1, 0, 10, 20), tracetest.OpAt("kernel", 2, 1, 15, 90), tracetest.OpAt("later", 3, 1, 30, 40),
				tracetest.OpAt("early", 4, 1, 0, 10),
			},
			want: map[string]int64{"launch": 5, "kernel": 75, "later": 10, "early": 10},
		},
		{
			name: "C7: never negative",
			specs: []tracetest.Spec{
				tracetest.OpAt("short", 1, 0, 10, 20), tracetest.OpAt("a", 2, 1, 0, 90), tracetest.OpAt("b", 3, 1, 0, 90),
			},
			want: map[string]int64{"short": 0, "a": 90, "b": 90},
		},
		{
			name: "spans that are no operations are looked through, and do not clip",
			specs: []tracetest.Spec{
				tracetest.OpAt("block", 1, 0, 0, 100), tracetest.SpanAt("layer", 2, 1, 0, 20), tracetest.SpanAt("part", 3, 2, 0, 10),
				tracetest.OpAt("matmul", 4, 3, 10, 40), tracetest.OpAt("add", 5, 1, 30, 50), tracetest.OpAt("inner", 6, 4, 90, 95),
			},
			want: map[string]int64{"block": 60, "matmul": 30, "add": 20, "inner": 5},
		},
		{
			name: "grandchildren do not count twice",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 1, 0, 0, 100), tracetest.OpAt("b", 2, 1, 0, 60), tracetest.OpAt("c", 3, 2, 0, 60),
			},
			want: map[string]int64{"a": 40, "b": 0, "c": 60},
		},
		{
			name: "without a start",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 1, 0, 0, 100), tracetest.OpAt("b", 2, 1, 0, 60).WithoutStart(), tracetest.OpAt("c", 3, 2, 0, 10),
				tracetest.OpAt("d", 4, 1, 90, 100),
			},
			want: map[string]int64{"a": 90, "b": 60, "c": 10, "d": 10},
		},
		{
			name:  "a repeat has no self time",
			specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 0, 100), tracetest.OpAt("again", 1, 0, 0, 100)},
			want:  map[string]int64{"a": 100},
		},
		{
			name: "a duplicate has its duration, and no place in the tree",
			specs: []tracetest.Spec{
				tracetest.OpAt("a", 1, 0, 0, 100), tracetest.OpAt("b", 2, 1, 0, 60), tracetest.OpAt("a again", 1, 0, 0, 90),
				tracetest.OpAt("b again", 2, 1, 60, 100),
				tracetest.OpAt("b once more", 2, 1, 60, 100),
			},
			want: map[string]int64{"a": 40, "b": 60, "a again": 90, "b again": 40},
		},
		{
			name:  "zero durations stay",
			specs: []tracetest.Spec{tracetest.OpAt("a", 1, 0, 5, 5), tracetest.OpAt("b", 2, 1, 5, 5)},
			want:  map[string]int64{"a": 0, "b": 0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check.Equal(t, "self times", tt.want, namedTimes(tracetest.AddTo(trace.New(), tt.specs...)))
		})
	}
}

func TestSelfTimesAgainstNaive(t *testing.T) {
	cases.Seeds(t, 200, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		forest, naive := tracetest.AddTo(trace.New(), specs...), tracetest.NewNaiveTree(specs)
		got := make(map[int]int64)
		for n, self := range selfTimes(forest) {
			got[int(n.Row)] = self
			if self < 0 || self > n.Duration() {
				t.Errorf("seed %d: self time %d of an operation of %d ns", seed, self, n.Duration())
			}
		}
		want := make(map[int]int64)
		sums := make(map[OperationKey]int64)
		for i, s := range specs {
			if s.IsOp && !naive.Repeat[i] {
				want[i] = naive.Self(i)
				sums[OperationKey{s.Name, s.Side}] += want[i]
			}
		}
		check.Equal(t, fmt.Sprintf("seed %d: self times", seed), want, got)
		check.Equal(t, fmt.Sprintf("seed %d: sums", seed), sums, OperationSelfTimes(forest))
	})
}

func TestOperationSelfTimes(t *testing.T) {
	forest := tracetest.AddTo(trace.New(),
		tracetest.OpAt("matmul", 1, 0, 0, 100), tracetest.OpAt("matmul", 2, 0, 0, 50), tracetest.OpAt("matmul", 3, 0, 0, 30).FromHost(),
		tracetest.OpAt("relu", 4, 1, 0, 10), tracetest.OpAt("relu", 5, 0, 0, math.MaxInt64).WithoutStart(),
	)
	want := map[OperationKey]int64{
		{"matmul", op.SideNone}: 140,
		{"matmul", op.SideHost}: 30,
		{"relu", op.SideNone}:   math.MaxInt64, // does not wrap around
	}
	check.Equal(t, "self times", want, OperationSelfTimes(forest))
}
