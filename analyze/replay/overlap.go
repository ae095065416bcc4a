package replay

import (
	"github.com/optrace/optrace/analyze/internal/schedule"
)

// overlap puts selected operations on a stream of their own. They wait for their launch, for what the recording states,
// and for the work launched before. The operation after them on their stream waits for the one before them instead.
func (g *Graph) overlap(s *selection, v *variant) {
	hasWork := make(map[int32]bool) // operations with an edge to the work launched before
	before := make(map[int32]edge)  // the edge from the operation before on the stream, by row
	for e := range g.g.owned(isRow) {
		switch {
		case e.to != g.begin[e.owner]:
		case e.kind == onStream:
			before[e.owner] = e
		case e.kind == ofCollective:
			hasWork[e.owner] = true
		}
	}
	rowAt := make(map[int32]int32) // by point, the row that ends there
	for _, e := range before {
		rowAt[e.from] = none
	}
	for r, p := range g.end {
		if _, ok := rowAt[p]; ok && g.isOnDevice(int32(r)) {
			rowAt[p] = int32(r)
		}
	}
	for e := range g.g.owned(isRow) {
		if e.to != g.begin[e.owner] {
			continue
		}
		selected := s.rows[e.owner]
		if selected && e.kind == afterStream && hasWork[e.owner] {
			v.Set(e.index, dropped)
		}
		if e.kind != onStream || rowAt[e.from] == none || s.rows[rowAt[e.from]] == selected {
			continue
		}
		if !selected { // otherwise its data come from there
			v.Set(e.index, dropped)
		}
		r := rowAt[e.from] // the operation before on either stream
		for steps := 0; r != none && s.rows[r] != selected && steps < g.forest.Len(); steps++ {
			link, ok := before[r]
			if r = none; ok {
				r = rowAt[link.from]
			}
		}
		if r != none {
			v.More[e.to>>1] = append(v.More[e.to>>1], schedule.Further{
				From: g.end[r], Lag: min(g.g.Lag(e.index), usualOverlap), Kind: onStream,
			})
		}
	}
}

// usualOverlap is the time between two operations of a stream once nothing is between them.
const usualOverlap = microsecond
