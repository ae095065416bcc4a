package analyze

import (
	"iter"

	"github.com/optrace/optrace/op"
)

// Launch returns when the host handed the operation to its device, in Unix
// nanoseconds.
func (n Node) Launch() op.Int {
	if !n.has(flagLaunch) {
		return op.Int{}
	}
	return op.Known(n.forest.launch(n.row))
}

// Links returns the operations and spans that the links of n lead to, as far as they
// are in the input.
func (n Node) Links() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		if n.IsZero() {
			return
		}
		f := n.forest
		f.build()
		first, links := linksOf(f.links, n.row)
		for i := range links {
			if to := f.tree.target[first+i]; to != noRow && !yield(Node{f, to}) {
				return
			}
		}
	}
}

// Collectives returns the operations of each collective that several devices took
// part in, one of each device, as [CollectiveRow] counts them. The slice is used
// again.
func (f *Forest) Collectives() iter.Seq[[]Node] {
	f.build()
	return func(yield func([]Node) bool) {
		var rows []int32 // of the entries of collectives
		for r := range f.n {
			if f.isCollective(r) {
				rows = append(rows, r)
			}
		}
		var nodes []Node
		goesOn := true
		f.eachCollective(func(_ int32, parts []collectivePart) {
			if !goesOn || len(parts) < 2 {
				return
			}
			nodes = nodes[:0]
			for _, p := range parts {
				nodes = append(nodes, Node{f, rows[p.entry]})
			}
			goesOn = yield(nodes)
		})
	}
}
