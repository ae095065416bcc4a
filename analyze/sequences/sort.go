package sequences

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/wide"
)

// sortSequences puts first what takes longest, gaps included, then the longer sequences
// and then goes by the names.
func sortSequences(rows []Sequence) {
	slices.SortFunc(rows, func(a, b Sequence) int {
		return cmp.Or(
			cmp.Compare(wide.AddSaturating(b.SumNS, b.GapNS), wide.AddSaturating(a.SumNS, a.GapNS)),
			cmp.Compare(len(b.Operations), len(a.Operations)),
			slices.Compare(a.Operations, b.Operations),
		)
	})
}

// sortStreams sorts by device and stream, those without a stream first.
func sortStreams(streams []Stream) {
	slices.SortFunc(streams, func(a, b Stream) int { return cmp.Or(a.Key.Compare(b.Key), order.Ints(a.Stream, b.Stream)) })
}
