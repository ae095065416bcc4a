package analyze

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

// executions are the spans that work for requests that they do not lie below, such
// as the steps of a batching engine: shared executions. The zero value is none.
type executions struct {
	list []execution
	// of has the number of the execution that each row belongs to, the nearest one
	// at or above it, or else that of the root that it names; noExecution for none.
	// It is nil where there are no executions.
	of []int32
	// kids has the nodes below a row for the rows that executions link to: the
	// children, and the executions as further ones, the last to end first.
	kids map[int32][]int32
}

const noExecution int32 = -1

// execution is a span that links to spans of requests, with what lies below it.
type execution struct {
	row   int32
	links int // to any span
	// requests has the requests that it works for, as [Forest.requestOwners] names
	// them, in the order of the links.
	requests []int32
	// weights has the weight of each request; nil where not every link has one.
	weights []int64
}

// executionOf returns the number of the execution that row r belongs to, given the
// requests that rows belong to without regard to executions; noExecution for none.
func (f *Forest) executionOf(r int32, owner []int32) int32 {
	if f.shared.of == nil {
		return noExecution
	}
	if e := f.shared.of[r]; e != noExecution {
		return e
	}
	if o := owner[r]; o != noRow && int(o) < f.Len() {
		return f.shared.of[o]
	}
	return noExecution
}

// buildExecutions finds the shared executions.
func (f *Forest) buildExecutions() {
	f.shared = executions{}
	if len(f.links) == 0 {
		return
	}
	s := newLinkSearch(f)
	f.counts.MissingLinks = s.missing
	s.decideAll()
	s.dropLost()
	f.shared = s.executions()
}

// add adds weight to that of a request.
func (e *execution) add(request int32, weight int64) {
	i := slices.Index(e.requests, request)
	if i < 0 {
		i = len(e.requests)
		e.requests, e.weights = append(e.requests, request), append(e.weights, 0)
	}
	if sum := e.weights[i] + max(0, weight); sum >= 0 {
		e.weights[i] = sum
	}
}

// executions returns what was found.
func (s *linkSearch) executions() executions {
	var found executions
	number := make([]int32, len(s.cands))
	for c := range s.cands {
		number[c] = noExecution
		if s.cands[c].shared {
			number[c] = int32(len(found.list))
			found.list = append(found.list, s.cands[c].execution)
		}
	}
	if len(found.list) == 0 {
		return found
	}
	at := make(map[int32]int32, len(found.list))
	for i := range found.list {
		at[found.list[i].row] = int32(i)
	}
	found.of = s.spread(at)
	found.kids = s.linkedChildren(&found, number)
	return found
}

// maxAbove bounds how many spans above the one that a link leads to are looked at,
// beside the request itself.
const maxAbove = 64

// linkedChildren returns the nodes below each row that an execution works for.
//
// An execution stands below every span that it links to and below the spans above
// that, up to the request: what it links to may be over before it begins. Where the
// link leads to another execution, it stands below what that stands below as well. It
// does not stand below a span of its own tree, nor below an execution that was decided
// later, which would close a circle.
func (s *linkSearch) linkedChildren(found *executions, number []int32) map[int32][]int32 {
	f := s.forest
	turns := make([]int32, len(found.list))
	inOrder := make([]int32, 0, len(found.list)) // candidates by turn
	for c := range s.cands {
		if number[c] != noExecution {
			turns[number[c]] = s.cands[c].turn
			inOrder = append(inOrder, int32(c))
		}
	}
	slices.SortFunc(inOrder, func(a, b int32) int { return int(s.cands[a].turn) - int(s.cands[b].turn) })
	attached := make([][]int32, len(found.list))
	added := make([]int32, f.Len()) // 1 more than the execution that was last added below each row
	kids := make(map[int32][]int32)
	for _, c := range inOrder {
		cand := &s.cands[c]
		e := number[c]
		add := func(row int32) {
			of := found.of[row]
			if of != noExecution && turns[of] >= cand.turn || s.order.within(row, cand.row) || s.order.within(cand.row, row) {
				return
			}
			if added[row] != e+1 {
				added[row] = e + 1
				attached[e] = append(attached[e], row)
			}
		}
		for l := cand.first; l < cand.end; l++ {
			for row, steps := f.tree.target[l], 0; row != noRow && steps < maxAbove; row, steps = f.tree.parent[row], steps+1 {
				add(row)
				if of := found.of[row]; of != noExecution && found.list[of].row == row && turns[of] < cand.turn {
					for _, above := range attached[of] {
						add(above)
					}
					break
				} else if s.owner[row] == row {
					break
				}
			}
		}
		for _, request := range cand.requests {
			if int(request) < f.Len() {
				add(request)
			}
		}
		for _, row := range attached[e] {
			kids[row] = append(kids[row], cand.row)
		}
	}
	var sorter order.Rows
	for row, executions := range kids {
		kids[row] = append(executions, f.tree.children(row)...)
		f.sortByEnd(kids[row], &sorter)
	}
	return kids
}

// pathChildren returns the nodes that the critical path may go through below row r, the
// last to end first: its children and the executions that link to it.
func (f *Forest) pathChildren(r int32) []int32 {
	if f.shared.kids != nil {
		if kids, ok := f.shared.kids[r]; ok {
			return kids
		}
	}
	return f.tree.children(r)
}
