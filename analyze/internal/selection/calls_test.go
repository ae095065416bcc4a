package selection_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
)

// Calls take turns on as many workers as there are, also where nearly all of them wait. Calls that begin at regular times
// beside each other take none, nor do calls on many workers.
func TestTurnsOfCalls(t *testing.T) {
	const ms, n = 1_000_000, 60
	for name, c := range map[string]struct {
		workers       int
		every, lasts  int64 // ms
		spread, pause float64
		want          int
	}{
		"a lock":                      {1, 9, 10, 0.3, 0.1, 1},
		"a lock nearly always held":   {1, 9, 10, 0.3, 0, 1},
		"two workers":                 {2, 4, 10, 0.1, 0, 2},
		"regular calls":               {16, 80, 100, 0.02, 0.2, 0},
		"regular calls of many times": {16, 80, 100, 0.15, 0.2, 0},
		"many calls beside":           {64, 3, 100, 0.2, 0, 0},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		f := trace.New()
		free := make([]int64, c.workers)
		var at int64
		waits := 0
		for i := range byte(n) {
			at += c.every * ms * 9 / 10
			at += int64(r.Float64() * float64(c.every*ms) / 5)
			if r.Float64() < c.pause {
				at += 4 * c.lasts * ms
			}
			next := slices.Min(free)
			begin := max(at, next)
			end := begin + int64(float64(c.lasts*ms)*(1+c.spread*(2*r.Float64()-1)))
			free[slices.Index(free, next)] = end
			if begin > at {
				waits++
			}
			tracetest.AddTo(f, tracetest.SpanAt("call", 1, 0, at, end).In(1+i))
		}
		f.Build()
		var calls []int32
		for row := range f.Rows() {
			calls = append(calls, row)
		}
		turns, ok := selection.TurnsOf(f, calls)
		if ok != (c.want > 0) || ok && (turns.Workers != c.want || len(turns.Waits) != waits) {
			t.Errorf("%s: %v, %d workers, %d waits; want %d, %d", name, ok, turns.Workers, len(turns.Waits), c.want, waits)
		}
	}
}
