package trace_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// A forest without some rows equals a forest of the other rows, with children of removed rows moved up.
func TestWithout(t *testing.T) {
	cases.Seeds(t, 150, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, 1+r.IntN(60))
		forest := tracetest.AddTo(trace.New(), specs...)
		forest.Build()
		out := make([]bool, len(specs))
		for i := range out {
			out[i] = r.IntN(4) == 0
		}
		left := tracetest.AddTo(trace.New(), tracetest.NaiveReduced(specs, out)...)
		check.Equal(t, fmt.Sprintf("seed %d", seed), tellEverything(t, left), tellEverything(t, forest.Without(out)))
	})
}
