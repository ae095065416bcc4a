package serving

import (
	"slices"

	"github.com/optrace/optrace/analyze/trace"
)

// findJourneys finds the journeys of batches through several engines, such as the stages of a pipeline: executions without
// operations of their own, around others on different devices, one after the other. Engines do not overlap themselves, and
// journeys do.
func (rows *Rows) findJourneys() {
	f := rows.Forest
	list := f.Executions.List
	const several = -2
	devices := slices.Repeat([]int32{none}, len(list)) // of operations outside nested executions
	for r := range f.Rows() {
		if x := f.ExecutionOf(r, rows.Owner); x != trace.NoExecution && f.CountsInSums(r) {
			devices[x] = f.Device(r)
		}
	}
	within := slices.Repeat([]int32{none}, len(list)) // the device of nested executions, or several
	for i := range list {
		if x := rows.around(int32(i)); x != trace.NoExecution && devices[i] != none {
			if within[x] == none || within[x] == devices[i] {
				within[x] = devices[i]
			} else {
				within[x] = several
			}
		}
	}
	var all []int32
	for i := range list {
		if within[i] == several && devices[i] == none && rows.around(int32(i)) == trace.NoExecution {
			all = append(all, list[i].Row)
		}
	}
	slices.SortFunc(all, f.CompareStart)
	const few = 20
	overlaps, end := 0, int64(0)
	for i, r := range all {
		if i > 0 && f.Start(r) < end-microsecond {
			overlaps++
		}
		end = max(end, f.End(r))
	}
	if few*overlaps <= len(all) {
		return
	}
	rows.Journeys = make(map[int32]bool, len(all))
	for _, r := range all {
		rows.Journeys[r] = true
	}
}

// around returns the execution around another one, or NoExecution.
func (rows *Rows) around(x int32) int32 {
	p := rows.Forest.Tree.Parent[rows.Forest.Executions.List[x].Row]
	if p == trace.NoRow {
		return trace.NoExecution
	}
	return rows.Forest.Executions.Of[p]
}
