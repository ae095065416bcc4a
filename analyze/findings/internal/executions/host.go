package executions

import (
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
)

// Where the gaps of engines are, as sentences say it: between these.
const (
	BetweenSteps      = "steps"
	BetweenOperations = "operations"
	WithinStep        = "the operations of steps"
	AtCollectives     = "parts of collectives"
)

// OfHost returns the gaps of engines that have much of the time, and where they are, or "" without any: between executions,
// or else between their operations, or in pauses within executions, in these and between them, or before collectives.
// Without executions they are between the operations of requests.
func OfHost(f *trace.Forest) (g Gaps, where string) {
	const (
		most = 0.12 // between executions
		much = 0.15 // between operations: the first one of a step is launched in it
		rare = 0.05 // in pauses
	)
	areRare := func(of Gaps) bool {
		g = of
		_, _, _, areMost := g.Pauses()
		return g.Are(rare) && areMost
	}
	if len(f.Executions.List) == 0 {
		if areRare(WithinRequests(f, timeline.IdleThreshold)) || g.Are(most) {
			return g, BetweenOperations
		}
		return g, ""
	}
	works := Spans(f)
	if g = Between(f, works, false); g.Are(most) {
		return g, BetweenSteps
	}
	between := Between(f, works, true)
	if areRare(between) || g.Are(much) {
		return g, BetweenSteps
	}
	within := WithinSteps(f)
	switch {
	case areRare(within):
		return g, WithinStep
	case areRare(Gaps{List: between.List, First: within.List, NS: between.NS + within.NS, Idle: between.Idle, Steps: between.Steps,
		Executions: between.Executions}):
		return g, BetweenOperations
	case areRare(BeforeCollectives(f)):
		return g, AtCollectives
	}
	return g, ""
}
