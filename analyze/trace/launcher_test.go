package trace_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

func TestLauncherAgainstNaive(t *testing.T) {
	cases.Seeds(t, 300, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(40))
		f, naive := tracetest.AddTo(trace.New(), specs...), tracetest.NewNaiveTree(specs)
		f.Build()
		for i, s := range specs {
			check.Equal(t, fmt.Sprintf("seed %d: operation %d (%+v) is launched by", seed, i, s), naive.Launcher(i), int(f.Launcher(int32(i))))
			if got, want := f.LauncherName(int32(i)), naive.LauncherName(i); s.DeviceSide() && got != want {
				t.Errorf("seed %d: operation %d is launched by %q, want %q", seed, i, got, want)
			}
		}
	})
}
