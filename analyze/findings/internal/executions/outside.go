package executions

import (
	"slices"

	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
)

// Outside is the time of requests of a name in which no span below them runs.
type Outside struct {
	Requests, NS int64
}

// OutsideCalls returns the time that requests around others spend outside of all spans below them, by name: a program that
// calls servers runs its own code then. Requests with operations or shared executions of their own are left out.
func OutsideCalls(f *trace.Forest) map[string]Outside {
	owners := f.RequestOwners()
	works := make(map[int32]bool)
	for _, r := range f.Devices.ByStart {
		works[owners[r]] = true
	}
	for i := range f.Executions.List {
		for _, q := range f.Executions.List[i].Requests {
			works[q] = true
		}
	}
	calls := make(map[int32]bool)
	for r := range f.Rows() {
		if p := f.Tree.Parent[r]; p != trace.NoRow && owners[r] == r {
			calls[owners[p]] = true
		}
	}
	all := make(map[string]Outside)
	for r := range calls {
		if r == trace.NoRow || int(r) >= f.Len() || works[r] || f.Tree.Parent[r] != trace.NoRow || !f.Has(r, trace.FlagStart) {
			continue
		}
		var times timeline.Times
		for _, c := range slices.SortedFunc(slices.Values(f.Tree.Children(r)), f.CompareStart) {
			if f.Has(c, trace.FlagStart) {
				times.Add(f.Start(c), f.End(c))
			}
		}
		o := all[f.RowName(r)]
		o.Requests++
		o.NS += f.Duration(r) - times.Within(f.Start(r), f.End(r))
		all[f.RowName(r)] = o
	}
	return all
}
