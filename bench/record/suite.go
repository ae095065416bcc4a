// Package record compares the cost of recording operations: of the operations
// themselves, of exporting finished spans, and of whole pipelines.
package record

import (
	"slices"

	"github.com/optrace/optrace/bench/measure"
)

// Suite returns the comparisons, each over all sets of operations.
func Suite() []measure.Measure {
	return slices.Concat(operationSuite(), exportSuite(), pipelineSuite())
}

// perSet returns the cases of a measure over suites that have the names of sets.
func perSet(suites []*measure.Suite, peer, ours string) []measure.Case {
	var cases []measure.Case
	for i, s := range suites {
		cases = append(cases, measure.Case{Data: sets[i].name, Suite: s, Peer: peer, Ours: ours})
	}
	return cases
}
