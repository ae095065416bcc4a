package batching

import (
	"math"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// Two requests take two turns of 10 each on a worker, one behind the other: with turns of 5 they alternate as before, and
// a turn whose request waits for no other begins as long after it as before.
func TestTurnsAreTakenAgain(t *testing.T) {
	e := Engine{Turns: true, Steps: []Step{
		{Start: 0, End: 10, Idle: 1, Came: 0, Freed: math.MinInt64}, {Start: 10, End: 20, Came: 1, Freed: 10},
		{Start: 20, End: 30, Came: 10, Freed: 20}, {Start: 30, End: 40, Came: 20, Freed: 30},
	}}
	e.Served = []Request{
		{Root: 1, Arrival: 0, Duration: 30, Turns: []int32{0, 2}},
		{Root: 2, Arrival: 1, Duration: 39, Turns: []int32{1, 3}},
	}
	form := func(cost float64, without map[int32]bool) []float64 {
		p := Plan{Tails: []float64{0, 0}}
		for range e.Steps {
			p.Costs = append(p.Costs, Cost{Law: Law{Fixed: cost}})
		}
		return e.Form(p, without).Durations
	}
	check.Equal(t, "without a change", []float64{30, 39}, form(10, nil))
	check.Equal(t, "turns of half the time", []float64{15, 19}, form(5, nil))
	check.Equal(t, "without the other", []float64{20, -1}, form(10, map[int32]bool{2: true}))
}
