package analyze

import (
	"iter"
	"slices"
)

// Collectives returns the operations of each collective that several devices took
// part in, one of each device, as [CollectiveRow] counts them. The slice is used
// again.
func (f *Forest) Collectives() iter.Seq[[]Node] {
	f.build()
	return func(yield func([]Node) bool) {
		var nodes []Node
		for _, parts := range f.findJoins().each() {
			nodes = nodes[:0]
			for _, r := range parts {
				nodes = append(nodes, f.node(r))
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
	// numbers has the collective that each of all operations of kind collective is a part of,
	// noRow for none.
	numbers []int32
	all     []collective
}

// findJoins returns the collectives that several devices took part in.
func (f *Forest) findJoins() *joins {
	f.build()
	j := &joins{first: []int32{0}, numbers: slices.Repeat([]int32{noRow}, len(f.collected)), all: f.collected}
	f.eachCollective(func(_ int32, parts []collectivePart) {
		if len(parts) < 2 {
			return
		}
		for _, p := range parts {
			j.numbers[p.entry] = int32(len(j.first) - 1)
			j.parts = append(j.parts, f.collected[p.entry].row)
		}
		j.first = append(j.first, int32(len(j.parts)))
	})
	return j
}

// each yields the number and the rows of each collective.
func (j *joins) each() iter.Seq2[int32, []int32] {
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
	if i, ok := collectiveOf(j.all, r); ok {
		return j.numbers[i]
	}
	return noRow
}
