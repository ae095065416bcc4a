package selection

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Again returns the calls that repeat failed ones, by row of these: the next span of their name below the same span, if it
// begins after they end.
func Again(f *trace.Forest) map[int32]int32 {
	again := make(map[int32]int32)
	hasFailed := func(r int32) bool { return f.Has(r, trace.FlagFailed) }
	for p := range f.Rows() {
		children := f.Tree.Children(p)
		if !slices.ContainsFunc(children, hasFailed) {
			continue
		}
		byStart := slices.DeleteFunc(slices.Clone(children), func(r int32) bool {
			return f.Flags(r)&(trace.FlagOp|trace.FlagStart|trace.FlagDuplicate) != trace.FlagStart
		})
		order.Rows(byStart, f.Start, f.CompareStart)
		next := make(map[int32]int32) // by name
		for _, r := range slices.Backward(byStart) {
			if n, known := next[f.Name(r)]; known && hasFailed(r) && f.End(r) <= f.Start(n) {
				again[r] = n
			}
			next[f.Name(r)] = r
		}
	}
	return again
}

// InTurn returns the time of a selected span without that in which a selected one that begins before it runs, if it ends after
// all of these. Others keep their time.
func (g *Recording) InTurn(s *Set) func(r int32, ns int64) int64 {
	f := g.Forest
	var rows []int32
	for r := range f.Rows() {
		if s.Rows[r] && !f.Has(r, trace.FlagOp) {
			rows = append(rows, r)
		}
	}
	order.Rows(rows, f.Start, f.CompareStart)
	waits := make(map[int32]int64)
	end := int64(-trace.MaxTime)
	for _, r := range rows {
		if f.Start(r) < end && end < f.End(r) {
			waits[r] = end - f.Start(r)
		}
		end = max(end, f.End(r))
	}
	return func(r int32, ns int64) int64 { return max(0, ns-waits[r]) }
}
