package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
)

// Without the suspects there are no operations below one whose clock is wrong,
// but those below one with a suspect duration are there.
func TestForestWithoutSuspects(t *testing.T) {
	forest := addTo(NewForest(),
		spanAt("request", 1, 0, 0, 100*ms), spanAt("far", 2, 1, -50*ms, -40*ms), opAt("a", 3, 2, -45*ms, -44*ms),
		spanAt("deeper", 4, 3, 10*ms, 11*ms), opAt("b", 5, 4, 10*ms, 11*ms),
		opAt("long", 6, 1, 20*ms, 90*ms).onStream(1), opAt("c", 7, 6, 21*ms, 22*ms).onStream(1), opAt("d", 8, 1, 30*ms, 40*ms).onStream(1),
	)
	var left []string
	for r, out := range forest.without(forest.suspects()) {
		if !out {
			left = append(left, forest.rowName(int32(r)))
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
		specs := randomSpecs(r, 1+r.IntN(60))
		forest := addTo(NewForest(), specs...)
		forest.build()
		out := make([]bool, len(specs))
		for i := range out {
			out[i] = r.IntN(4) == 0
		}
		left := addTo(NewForest(), naiveReduced(specs, out)...)
		got := tellEverything(t, forest.reduced(out))
		want := tellEverything(t, left)
		got.Structure.BadTimes = want.Structure.BadTimes // are those of the input
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: (-want +got):\n%s", seed, diff)
		}
	})
}
