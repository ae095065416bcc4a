package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
)

// Without the suspects there are no operations below one whose clock is wrong,
// but those below one with a suspect duration are there.
func TestForestWithoutSuspects(t *testing.T) {
	forest := tracetest.AddTo(trace.New(),
		tracetest.SpanAt("request", 1, 0, 0, 100*tracetest.Millisecond), tracetest.SpanAt("far", 2, 1, -50*tracetest.Millisecond, -40*tracetest.Millisecond), tracetest.OpAt("a", 3, 2, -45*tracetest.Millisecond, -44*tracetest.Millisecond),
		tracetest.SpanAt("deeper", 4, 3, 10*tracetest.Millisecond, 11*tracetest.Millisecond), tracetest.OpAt("b", 5, 4, 10*tracetest.Millisecond, 11*tracetest.Millisecond),
		tracetest.OpAt("long", 6, 1, 20*tracetest.Millisecond, 90*tracetest.Millisecond).OnStream(1), tracetest.OpAt("c", 7, 6, 21*tracetest.Millisecond, 22*tracetest.Millisecond).OnStream(1), tracetest.OpAt("d", 8, 1, 30*tracetest.Millisecond, 40*tracetest.Millisecond).OnStream(1),
	)
	var left []string
	for r, out := range suspects.Without(forest, suspects.Find(forest)) {
		if !out {
			left = append(left, forest.RowName(int32(r)))
		}
	}
	if diff := cmp.Diff([]string{"request", "c", "d"}, left); diff != "" {
		t.Error(diff)
	}
}

// A forest without some rows is the forest of the others, where what was below
// one of the rows hangs below the next one above that is left.
func TestReducedForest(t *testing.T) {
	cases.Seeds(t, 150, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, 1+r.IntN(60))
		forest := tracetest.AddTo(trace.New(), specs...)
		forest.Build()
		out := make([]bool, len(specs))
		for i := range out {
			out[i] = r.IntN(4) == 0
		}
		left := tracetest.AddTo(trace.New(), tracetest.NaiveReduced(specs, out)...)
		got := tellEverything(t, forest.Without(out))
		want := tellEverything(t, left)
		got.Structure.BadTimes = want.Structure.BadTimes // are those of the input
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: (-want +got):\n%s", seed, diff)
		}
	})
}
