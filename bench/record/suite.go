// Package record compares the cost of recording operations: of the operations
// themselves, of exporting finished spans, and of whole pipelines.
package record

import (
	"context"
	"slices"

	"github.com/optrace/optrace/bench/measure"
)

// Suite returns the comparisons, each over all sets of operations.
func Suite() []measure.Measure {
	return slices.Concat(operationSuite(), exportSuite(), pipelineSuite(), liveSuite(), connectorSuite())
}

type opener func(context.Context, *measure.Env, *set) (*measure.Opened, error)

// newSuites makes suites of a kind on one set of operations each, and returns a function that returns
// the cases of two sides.
func newSuites(kind, unit string, rounds, quickRounds int, sets []set, open opener) func(peer, ours string) []measure.Case {
	var all []measure.Case
	for _, s := range sets {
		all = append(all, measure.Case{Data: s.name, Suite: &measure.Suite{
			Name: kind + ", " + s.name, Unit: unit, Rounds: rounds, QuickRounds: quickRounds,
			Open: func(ctx context.Context, env *measure.Env) (*measure.Opened, error) {
				return open(ctx, env, &s)
			},
		}})
	}
	return func(peer, ours string) []measure.Case {
		cases := slices.Clone(all)
		for i := range cases {
			cases[i].Peer, cases[i].Ours = peer, ours
		}
		return cases
	}
}
