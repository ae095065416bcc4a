package trace

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// CompareStart orders rows by start and then by end. Ties are broken by content, so a converted file has the same
// figures: by depth in the tree (up to 64 levels), trace id, span id and name, and at last by input order.
func (f *Forest) CompareStart(x, y int32) int {
	if d := cmp.Compare(f.Start(x), f.Start(y)); d != 0 {
		return d
	}
	if d := cmp.Compare(f.Duration(x), f.Duration(y)); d != 0 {
		return d
	}
	return f.compareTied(x, y)
}

// CompareEnd orders rows by end, last first, then longest first, then as CompareStart breaks ties. Rows
// without a start come last.
func (f *Forest) CompareEnd(x, y int32) int {
	if d := int(f.Flags(y)&FlagStart) - int(f.Flags(x)&FlagStart); d != 0 {
		return d
	}
	if d := cmp.Compare(f.End(y), f.End(x)); d != 0 {
		return d
	}
	if d := cmp.Compare(f.Duration(y), f.Duration(x)); d != 0 {
		return d
	}
	return f.compareTied(x, y)
}

// compareTied orders rows with equal times. It needs the parents.
func (f *Forest) compareTied(x, y int32) int {
	if d := f.compareDepth(x, y); d != 0 {
		return d
	}
	tx := f.traceID(x)
	ty := f.traceID(y) // files keep these ids
	if d := bytes.Compare(tx[:], ty[:]); d != 0 {
		return d
	}
	if d := cmp.Compare(f.Span(x), f.Span(y)); d != 0 && !tx.IsZero() {
		return d
	}
	if d := strings.Compare(f.RowName(x), f.RowName(y)); d != 0 {
		return d
	}
	return int(x) - int(y)
}

// compareDepth orders rows by depth, up to maxAbove.
func (f *Forest) compareDepth(x, y int32) int {
	parent := f.Tree.Parent
	for range maxAbove {
		x = parent[x]
		y = parent[y]
		if x == y {
			return 0
		}
		if x == NoRow {
			return -1
		}
		if y == NoRow {
			return 1
		}
	}
	return 0
}

// Nesting answers which rows are below others.
type Nesting struct {
	rows []int32 // of the tree, top down
	// Place is the index of each row in rows. Size is the number of rows at or below it. A duplicate has the
	// values of the first row with its ids.
	Place, Size []int32
}

// Nesting returns the nesting of the tree.
func (f *Forest) Nesting() *Nesting {
	n := &Nesting{
		rows:  make([]int32, 0, f.Len()),
		Place: make([]int32, f.Len()), Size: make([]int32, f.Len()),
	}
	for r := range f.Tree.topDown() {
		n.Place[r] = int32(len(n.rows))
		n.rows = append(n.rows, r)
	}
	for _, r := range slices.Backward(n.rows) {
		n.Size[r]++
		if parent := f.Tree.Parent[r]; parent != NoRow {
			n.Size[parent] += n.Size[r]
		}
	}
	for r, original := range f.Tree.Originals {
		if f.Has(int32(r), FlagDuplicate) {
			n.Place[r] = n.Place[original]
			n.Size[r] = n.Size[original]
		}
	}
	return n
}

// Rows returns the rows of the tree, each after its parent.
func (n *Nesting) Rows() []int32 { return n.rows }

// Within reports whether r equals above or is below it.
func (n *Nesting) Within(r, above int32) bool {
	d := n.Place[r] - n.Place[above]
	return d >= 0 && d < n.Size[above]
}
