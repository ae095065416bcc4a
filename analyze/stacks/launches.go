package stacks

import (
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// launches says which operations stand below the operator that launched them and not below what
// is above them in the tree. nil is none.
type launches struct {
	by    []int32 // the operator, trace.NoRow for an operation that stays, named for one whose operator has a name alone
	rows  []int32 // those of row r are rows[first[r]:first[r+1]]
	first []int32
}

// named stands for an operator that was not read.
const named = trace.NoRow - 1

// launchesOf finds the operations whose stacks begin with those of their operators: the outermost ones of a device that
// are not below their operator anyway, and whose operator is not inside an operation of a device.
func launchesOf(f *trace.Forest) *launches {
	if !f.HasLaunchers() {
		return nil
	}
	nesting := f.Nesting()
	below := make([]int32, f.Rows()) // 1 more than the place of the outermost operation of a device around each row; 0 for none
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

// moves reports whether row r stands below what launched it.
func (l *launches) moves(r int32) bool { return l != nil && l.by[r] >= 0 }

// isNamed reports whether row r stands below the name of what launched it.
func (l *launches) isNamed(r int32) bool { return l != nil && l.by[r] == named }

// of returns the operations that stand below row r.
func (l *launches) of(r int32) []int32 {
	if l == nil {
		return nil
	}
	return l.rows[l.first[r]:l.first[r+1]]
}
