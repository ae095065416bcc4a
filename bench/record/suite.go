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

// setSuites are suites on one set of operations each, in the order of the names.
type setSuites struct {
	names  []string
	suites []*measure.Suite
}

type opener func(context.Context, *measure.Env, *set) (*measure.Opened, error)

// newSuites makes suites of a kind on sets of operations. Each side runs 31 times, in
// quick runs 7 times.
func newSuites(kind, unit string, sets []set, open opener) setSuites {
	var all setSuites
	for _, s := range sets {
		all.names = append(all.names, s.name)
		all.suites = append(all.suites, &measure.Suite{
			Name: kind + ", " + s.name, Unit: unit, Rounds: 31, QuickRounds: 7,
			Open: func(ctx context.Context, env *measure.Env) (*measure.Opened, error) {
				return open(ctx, env, &s)
			},
		})
	}
	return all
}

func (all setSuites) cases(peer, ours string) []measure.Case {
	var cases []measure.Case
	for i, s := range all.suites {
		cases = append(cases, measure.Case{Data: all.names[i], Suite: s, Peer: peer, Ours: ours})
	}
	return cases
}
