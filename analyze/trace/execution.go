package trace

import "github.com/optrace/optrace/analyze/internal/order"

// ExecutionOf returns the number of the execution that row r belongs to, given the
// requests that rows belong to without regard to executions; NoExecution for none.
func (f *Forest) ExecutionOf(r int32, owner []int32) int32 {
	if f.Executions.Of == nil {
		return NoExecution
	}
	if e := f.Executions.Of[r]; e != NoExecution {
		return e
	}
	if o := owner[r]; o != NoRow && int(o) < f.Len() {
		return f.Executions.Of[o]
	}
	return NoExecution
}

func (f *Forest) buildExecutions() {
	f.Executions = Executions{}
	if len(f.links) == 0 {
		return
	}
	s := newLinkSearch(f)
	f.Counts.MissingLinks = s.missing
	s.decideAll()
	f.Executions = s.executions()
}

func (s *linkSearch) executions() Executions {
	for {
		var found Executions
		var shared []*candidate
		at := make(map[int32]int32)
		for c := range s.cands {
			if cand := &s.cands[c]; cand.shared {
				at[cand.Row] = int32(len(shared))
				shared, found.List = append(shared, cand), append(found.List, cand.Execution)
			}
		}
		if len(shared) == 0 {
			return found
		}
		if found.Of = s.spread(at); !s.dropLost(found.Of) {
			found.kids = s.linkedChildren(&found, shared)
			return found
		}
	}
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
func (s *linkSearch) linkedChildren(found *Executions, shared []*candidate) map[int32][]int32 {
	f := s.forest
	attached := make([][]int32, len(shared))
	added := make([]int32, f.Len()) // 1 more than the execution that was last added below each row
	kids := make(map[int32][]int32)
	for _, e := range order.Numbers(len(shared), func(a, b int32) int { return int(shared[a].turn) - int(shared[b].turn) }) {
		cand := shared[e]
		add := func(row int32) {
			of := found.Of[row]
			if of != NoExecution && shared[of].turn >= cand.turn || s.order.Within(row, cand.Row) || s.order.Within(cand.Row, row) {
				return
			}
			if added[row] != e+1 {
				added[row] = e + 1
				attached[e] = append(attached[e], row)
			}
		}
		for l := cand.first; l < cand.end; l++ {
			for row, steps := f.Tree.target[l], 0; row != NoRow && steps < maxAbove; row, steps = f.Tree.Parent[row], steps+1 {
				add(row)
				if of := found.Of[row]; of != NoExecution && found.List[of].Row == row && shared[of].turn < cand.turn {
					for _, above := range attached[of] {
						add(above)
					}
					break
				} else if s.owner[row] == row {
					break
				}
			}
		}
		for _, request := range cand.Requests {
			if int(request) < f.Len() {
				add(request)
			}
		}
		for _, row := range attached[e] {
			kids[row] = append(kids[row], cand.Row)
		}
	}
	for row, executions := range kids {
		kids[row] = append(executions, f.Tree.Children(row)...)
		f.SortByEnd(kids[row])
	}
	return kids
}

// PathChildren returns the nodes that the critical path may go through below row r, the
// last to end first: its children and the executions that link to it.
func (f *Forest) PathChildren(r int32) []int32 {
	if f.Executions.kids != nil {
		if kids, ok := f.Executions.kids[r]; ok {
			return kids
		}
	}
	return f.Tree.Children(r)
}
