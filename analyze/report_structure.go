package analyze

import "github.com/optrace/optrace/op"

// addStructure fills in the figures that need the structure of the run.
func (r *Report) addStructure(t *Trace) {
	counts := t.Structure()
	r.Input.Orphans, r.Input.Duplicates = &counts.Orphans, &counts.Duplicates
	r.addSelfTimes(t)
}

// addSelfTimes gives each operation its self time. What belongs to names that
// have no row of their own goes into the row of the others.
func (r *Report) addSelfTimes(t *Trace) {
	times := t.OperationSelfTimes()
	others := make(map[op.Side]*int64)
	for i := range r.Operations {
		row := &r.Operations[i]
		side := op.SideNone
		if row.Side == op.SideHost.String() {
			side = op.SideHost
		}
		key := OperationKey{row.Operation, side}
		self := times[key]
		delete(times, key)
		row.SelfNS = &self
		if row.Operation == otherLabel {
			others[side] = &self
		}
	}
	for key, self := range times {
		if sum := others[key.Side]; sum != nil {
			*sum = addSaturating(*sum, self)
		}
	}
}
