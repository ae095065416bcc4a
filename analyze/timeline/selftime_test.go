package timeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestSelfTimesAgainstNaive(t *testing.T) {
	cases.Inputs(t, 100, 500, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(25))
		forest := tracetest.AddTo(trace.New(), specs...)
		naive := tracetest.NewNaiveTree(specs)
		got := make(map[int]int64)
		for n := range forest.Nodes() {
			if !forest.CountsInSums(n.Row) {
				continue
			}
			self := SelfTimeNS(n)
			got[int(n.Row)] = self
			if self < 0 || self > n.Duration() {
				t.Errorf("seed %d: self time %d of an operation of %d ns", seed, self, n.Duration())
			}
		}
		want := make(map[int]int64)
		sums := make(map[RowID]int64)
		for i, s := range specs {
			if s.IsOp && !naive.Repeat[i] {
				want[i] = naive.Self(i)
				sums[RowID{s.Name, s.Side}] += want[i]
			}
		}
		check.Equal(t, fmt.Sprintf("seed %d: self times", seed), want, got)
		check.Equal(t, fmt.Sprintf("seed %d: sums", seed), sums, OperationSelfTimes(forest))
	})
}

func TestSelfTimesDoNotOverflow(t *testing.T) {
	forest := tracetest.AddTo(trace.New(),
		tracetest.OpAt("relu", 1, 0, 0, 10), tracetest.OpAt("relu", 2, 0, 0, math.MaxInt64).WithoutStart())
	check.Equal(t, "self times", map[RowID]int64{{"relu", op.SideNone}: math.MaxInt64}, OperationSelfTimes(forest))
}
