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
