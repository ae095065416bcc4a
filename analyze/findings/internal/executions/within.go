package executions

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/serving"
	"github.com/optrace/optrace/analyze/trace"
)

// WithinSteps returns the longest gap between the operations of each execution, of all its devices together, outside of
// the host's operations and spans there.
func WithinSteps(f *trace.Forest) (g Gaps) {
	rows := serving.NewRows(f, f.RequestOwners())
	of := make([][]int32, len(f.Executions.List))
	for r := range f.Rows() {
		x := rows.ExecutionOf(r)
		isWork := f.Has(r, trace.FlagOp) && f.CountsInSums(r) || len(f.Tree.Children(r)) == 0
		if x != trace.NoExecution && isWork && f.Has(r, trace.FlagStart) && r != f.Executions.List[x].Row {
			of[x] = append(of[x], r)
		}
	}
	for x, list := range of {
		if row := f.Executions.List[x].Row; !rows.Journeys[row] && rows.ExecutionOf(row) == int32(x) {
			g.Steps += f.Duration(row)
		}
		slices.SortFunc(list, f.CompareStart)
		end, longest := int64(0), int64(0)
		for i, r := range list {
			if i > 0 {
				longest = max(longest, f.Start(r)-end)
			}
			end = max(end, f.End(r))
		}
		if len(list) > 1 {
			g.List = append(g.List, longest)
			g.NS += longest
		}
	}
	g.Steps -= g.NS
	return g
}
