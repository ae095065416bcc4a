package analyze

import (
	"iter"
	"slices"
)

// topDown returns the rows of the tree, each behind the one above it and in front
// of whatever does not lie below it. Duplicates are not among them.
func (t *tree) topDown() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		pending := slices.Clone(t.roots)
		slices.Reverse(pending)
		for len(pending) > 0 {
			r := pending[len(pending)-1]
			pending = append(pending[:len(pending)-1], t.children(r)...)
			if !yield(r) {
				return
			}
		}
	}
}

// nesting says which rows lie below which.
type nesting struct {
	rows []int32 // those of the tree, top down
	// place has the place of each row in rows, size how many rows lie at or below
	// it. A duplicate has those of the row with its ids.
	place, size []int32
}

// nesting returns the nesting of the tree.
func (f *Forest) nesting() *nesting {
	n := &nesting{
		rows:  make([]int32, 0, f.Len()),
		place: make([]int32, f.Len()), size: make([]int32, f.Len()),
	}
	for r := range f.tree.topDown() {
		n.place[r] = int32(len(n.rows))
		n.rows = append(n.rows, r)
	}
	for _, r := range slices.Backward(n.rows) {
		n.size[r]++
		if parent := f.tree.parent[r]; parent != noRow {
			n.size[parent] += n.size[r]
		}
	}
	for r, original := range f.tree.originals {
		if f.has(int32(r), flagDuplicate) {
			n.place[r], n.size[r] = n.place[original], n.size[original]
		}
	}
	return n
}

// within reports whether row r is row above or lies below it.
func (n *nesting) within(r, above int32) bool {
	d := n.place[r] - n.place[above]
	return d >= 0 && d < n.size[above]
}
