package analyze

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/internal/packed"
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
		var nodes []Node
		for _, parts := range f.joins().all() {
			nodes = nodes[:0]
			for _, r := range parts {
				nodes = append(nodes, Node{f, r})
			}
			if !yield(nodes) {
				return
			}
		}
	}
}

// joins are the collectives that several devices took part in, by number.
type joins struct {
	// The rows of collective n are parts[first[n]:first[n+1]], one of each device.
	parts, first []int32
	// rows has all operations of kind collective in their order, those of block b from
	// before[b] on, and numbers the collective that each is a part of, noRow for none.
	rows, before, numbers []int32
}

// joins returns the collectives that several devices took part in. The tree must be built.
func (f *Forest) joins() *joins {
	f.joining.Do(func() { f.joined = f.findJoins() })
	return &f.joined
}

func (f *Forest) findJoins() joins {
	j := joins{first: []int32{0}}
	kinds := f.inOrder(colKind)
	for r := range f.n {
		if r%packed.BlockRows == 0 {
			j.before = append(j.before, int32(len(j.rows)))
		}
		if f.flags(r)&(flagOp|flagHost) == flagOp && op.Kind(kinds.int64(r)) == op.KindCollective {
			j.rows = append(j.rows, r)
		}
	}
	j.before = append(j.before, int32(len(j.rows)))
	j.numbers = slices.Repeat([]int32{noRow}, len(j.rows))
	f.eachCollective(func(_ int32, parts []collectivePart) {
		if len(parts) < 2 {
			return
		}
		for _, p := range parts {
			j.numbers[p.entry] = int32(len(j.first) - 1)
			j.parts = append(j.parts, j.rows[p.entry])
		}
		j.first = append(j.first, int32(len(j.parts)))
	})
	return j
}

// all yields the number and the rows of each collective.
func (j *joins) all() iter.Seq2[int32, []int32] {
	return func(yield func(int32, []int32) bool) {
		for n := range int32(len(j.first) - 1) {
			if !yield(n, j.of(n)) {
				return
			}
		}
	}
}

// of returns the rows of collective n.
func (j *joins) of(n int32) []int32 { return j.parts[j.first[n]:j.first[n+1]] }

// number returns the number of the collective that the operation in row r is a part of,
// noRow for none.
func (j *joins) number(r int32) int32 {
	b := r / packed.BlockRows
	i, found := slices.BinarySearch(j.rows[j.before[b]:j.before[b+1]], r)
	if !found {
		return noRow
	}
	return j.numbers[int(j.before[b])+i]
}
