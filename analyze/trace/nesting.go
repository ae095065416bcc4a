package trace

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// Nesting tells whether a row is below another one.
type Nesting struct {
	rows []int32 // of the tree, top down
	// Place is the index of each row in rows. Size is the number of rows at or below it. A duplicate has the
	// values of the first row with its ids.
	Place, Size []int32
}

// Nesting returns the nesting of the tree.
func (f *Forest) Nesting() *Nesting {
	n := &Nesting{
		rows: make([]int32, 0, f.Len()), Place: make([]int32, f.Len()), Size: make([]int32, f.Len()),
	}
	for r := range f.Tree.TopDown() {
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

// WaitedFor returns, for each operation, the operations of other streams it waited for, as recorded in Waits. f must be
// built.
func (f *Forest) WaitedFor() map[int32][]int32 {
	if len(f.Waits) == 0 {
		return nil
	}
	type id struct {
		trace op.TraceID
		span  uint64
	}
	rows := make(map[id]int32)
	for _, r := range f.Devices.ByStart {
		rows[id{f.Names.Traces.Values[f.Trace(r)], f.Span(r)}] = r
	}
	of := make(map[int32][]int32)
	for _, s := range f.Waits {
		r, ok := rows[id{s.Trace, s.Op}]
		after, known := rows[id{s.Trace, s.For}]
		if ok && known && f.DeviceStreamOf(r) != f.DeviceStreamOf(after) {
			of[r] = append(of[r], after)
		}
	}
	return of
}
