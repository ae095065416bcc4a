package stacks

import (
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// launches moves operations below their launching operator, away from their parents. nil moves no operation.
type launches struct {
	// by is the operator of each row, trace.NoRow for an operation staying in place, named for an operator with only a
	// name.
	by    []int32
	rows  []int32 // the operations of row r are rows[first[r]:first[r+1]]
	first []int32
}

// named stands for an unread operator.
const named = trace.NoRow - 1

// launchesOf finds the operations to move: outermost on a device, with an operator outside device operations.
func launchesOf(f *trace.Forest) *launches {
	if !f.HasLaunchers() {
		return nil
	}
	nesting := f.Nesting()
	below := make([]int32, f.Rows()) // place of the outermost device operation around each row, plus 1; 0 for none
	l := &launches{by: make([]int32, f.Rows())}
	for _, r := range nesting.Rows() {
		if p := f.Tree.Parent[r]; p != trace.NoRow && below[p] > 0 {
			below[r] = below[p]
		} else if f.IsDeviceSide(r) {
			below[r] = nesting.Place[r] + 1
		}
	}
	for r := range f.Rows() {
		l.by[r] = trace.NoRow
		if f.Has(r, trace.FlagDuplicate) || below[r] != nesting.Place[r]+1 {
			continue
		}
		if host := f.Launcher(r); host == trace.NoRow && f.LauncherName(r) != "" {
			l.by[r] = named
		} else if host != trace.NoRow && below[host] == 0 && !nesting.Within(r, host) {
			l.by[r] = host
		}
	}
	l.rows, l.first = order.Group(f.Rows(), len(l.by), nil, func(r int32) int32 { return max(l.by[r], trace.NoRow) })
	return l
}

func (l *launches) moves(r int32) bool { return l != nil && l.by[r] >= 0 }

// isNamed reports whether row r moves below an operator with only a name.
func (l *launches) isNamed(r int32) bool { return l != nil && l.by[r] == named }

func (l *launches) of(r int32) []int32 {
	if l == nil {
		return nil
	}
	return l.rows[l.first[r]:l.first[r+1]]
}
