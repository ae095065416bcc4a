package collective

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
)

// Nodes returns the operations of each collective that several devices took
// part in, one of each device, as [Row] counts them. The slice is used
// again.
func Nodes(f *trace.Forest) iter.Seq[[]trace.Node] {
	f.Build()
	return func(yield func([]trace.Node) bool) {
		var nodes []trace.Node
		joins := FindJoins(f)
		for n := range int32(len(joins.first) - 1) {
			nodes = nodes[:0]
			for _, r := range joins.Of(n) {
				nodes = append(nodes, f.Node(r))
			}
			if !yield(nodes) {
				return
			}
		}
	}
}

// Joins are the collectives that several devices took part in, by number.
type Joins struct {
	// The rows of collective n are parts[first[n]:first[n+1]], one of each device.
	parts, first []int32
	// numbers has the collective that each of all operations of kind collective is a part of,
	// trace.NoRow for none.
	numbers []int32
	all     []trace.Collective
}

// FindJoins returns the collectives that several devices took part in.
func FindJoins(f *trace.Forest) *Joins {
	f.Build()
	j := &Joins{first: []int32{0}, numbers: slices.Repeat([]int32{trace.NoRow}, len(f.Collectives)), all: f.Collectives}
	Each(f, func(_ int32, parts []Part) {
		if len(parts) < 2 {
			return
		}
		for _, p := range parts {
			j.numbers[p.entry] = int32(len(j.first) - 1)
			j.parts = append(j.parts, f.Collectives[p.entry].Row)
		}
		j.first = append(j.first, int32(len(j.parts)))
	})
	return j
}

// Of returns the rows of collective n.
func (j *Joins) Of(n int32) []int32 { return j.parts[j.first[n]:j.first[n+1]] }

// Number returns the number of the collective that the operation in row r is a part of,
// trace.NoRow for none.
func (j *Joins) Number(r int32) int32 {
	if i, ok := trace.CollectiveOf(j.all, r); ok {
		return j.numbers[i]
	}
	return trace.NoRow
}
