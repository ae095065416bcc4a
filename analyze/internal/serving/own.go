package serving

import "github.com/optrace/optrace/analyze/trace"

// findOwn finds the names of spans within executions that work for one request alone, such as the encoding of an image, also
// where the execution has several.
func (rows *Rows) findOwn() {
	f := rows.Forest
	rows.own = make(map[int32]bool)
	for i := range f.Executions.List {
		x := &f.Executions.List[i]
		of := rows.around(int32(i))
		if of == trace.NoExecution || rows.Journeys[f.Executions.List[of].Row] {
			continue
		}
		name := f.Name(x.Row)
		isOwn, known := rows.own[name]
		switch {
		case len(x.Requests) != 1:
			rows.own[name] = false
		case len(f.Executions.List[of].Requests) > 1 && (isOwn || !known):
			rows.own[name] = true
		}
	}
}

// OwnerWithin returns the only request that a row works for within an execution, or none.
func (rows *Rows) OwnerWithin(r int32) int32 {
	f := rows.Forest
	if r < 0 || len(rows.own) == 0 {
		return none
	}
	x := f.ExecutionOf(r, rows.Owner)
	if x == trace.NoExecution || !rows.own[f.Name(f.Executions.List[x].Row)] || rows.around(x) == trace.NoExecution {
		return none
	}
	return f.Executions.List[x].Requests[0]
}
