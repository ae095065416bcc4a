// Package record compares the cost of recording operations: of the operations
// themselves, of exporting finished spans, and of whole pipelines.
package record

import (
	"slices"

	"github.com/optrace/optrace/bench/measure"
)

// Suite returns the comparisons, each over all sets of operations.
func Suite() []measure.Measure {
	return slices.Concat(operationSuite(), exportSuite(), pipelineSuite(), liveSuite(), connectorSuite())
}

// setSuites are suites on one set of operations each.
type setSuites []setSuite

type setSuite struct {
	set   string
	suite *measure.Suite
}

// cases returns the cases of a measure, one for each set.
func (all setSuites) cases(peer, ours string) []measure.Case {
	var cases []measure.Case
	for _, s := range all {
		cases = append(cases, measure.Case{Data: s.set, Suite: s.suite, Peer: peer, Ours: ours})
	}
	return cases
}
