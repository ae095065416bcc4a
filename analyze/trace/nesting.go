package trace

import "slices"

// Nesting says which rows lie below which.
type Nesting struct {
	rows []int32 // those of the tree, top down
	// Place has the place of each row in rows, size how many rows lie at or below
	// it. A duplicate has those of the row with its ids.
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
			n.Place[r], n.Size[r] = n.Place[original], n.Size[original]
		}
	}
	return n
}

// within reports whether row r is row above or lies below it.
func (n *Nesting) within(r, above int32) bool {
	d := n.Place[r] - n.Place[above]
	return d >= 0 && d < n.Size[above]
}
