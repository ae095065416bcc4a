package trace

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

// ExecutionOf returns the number of the execution of row r or NoExecution. owner is the result of RequestOwners.
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

// Executions within at most maxNested others are always examined on their own.
const maxNested = 16

// IsDeep reports whether analyses treat execution e only as a part of the executions around it, because it is nested
// deeply.
func (f *Forest) IsDeep(e int32) bool { return f.Executions.deep[e] }

// findDeep marks deeply nested executions once they are too large in total to examine one by one.
func (s *linkSearch) findDeep(found *Executions) {
	found.deep = make([]bool, len(found.List))
	rows := 0
	for i := range found.List {
		nested := 0
		e := int32(i)
		for ; e != NoExecution && nested <= maxNested; nested++ {
			parent := s.forest.Tree.Parent[found.List[e].Row]
			if e = NoExecution; parent != NoRow {
				e = found.Of[parent]
			}
		}
		if nested > maxNested {
			rows += int(s.order.Size[found.List[i].Row])
			found.deep[i] = rows > s.most
		}
	}
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
				shared = append(shared, cand)
				found.List = append(found.List, cand.Execution)
			}
		}
		if len(shared) == 0 {
			return found
		}
		if found.Of = s.spread(at); !s.dropLost(found.Of) {
			s.findDeep(&found)
			found.kids = s.linkedChildren(&found, shared)
			return found
		}
	}
}

const maxAbove = 64 // bounds the spans examined above the target of a link, beside the request itself

// linkedChildren returns the children of each row with attached executions: the tree's and the executions.
//
// An execution is attached below the spans it links to and the spans above, up to the request, while these run. If a link
// leads to another execution, it also inherits that execution's places. It is never attached within its own tree or below
// an execution decided later: this would close a cycle. Rows are inherited only if the execution or another one linking
// to it overlaps them. In a loop of steps this excludes all earlier steps.
func (s *linkSearch) linkedChildren(found *Executions, shared []*candidate) map[int32][]int32 {
	f := s.forest
	turns := order.Numbers(len(shared), func(a, b int32) int { return int(shared[a].turn) - int(shared[b].turn) })
	through := s.reachBack(found, shared, turns)
	attached := make([][]int32, len(shared))
	added := make([]int32, f.Len()) // 1 more than the execution last added below each row
	kids := make(map[int32][]int32)
	taken := 0
	for _, e := range turns {
		if f.Ended() {
			break
		}
		cand := shared[e]
		add := func(row int32) {
			of := found.Of[row]
			if !f.times(row).meets(cand.reach) || of != NoExecution && shared[of].turn >= cand.turn ||
				s.order.Within(row, cand.Row) || s.order.Within(cand.Row, row) {
				return
			}
			if added[row] != e+1 {
				added[row] = e + 1
				attached[e] = append(attached[e], row)
			}
		}
		for l := cand.first; l < cand.end; l++ {
			s.eachAbove(l, func(row int32) bool {
				add(row)
				return through[l] == NoExecution || found.List[through[l]].Row != row
			})
			if of := through[l]; of != NoExecution && taken+len(attached[of]) <= s.most {
				taken += len(attached[of])
				for _, above := range attached[of] {
					add(above)
				}
			}
		}
		for _, request := range cand.Requests {
			if int(request) < f.Len() {
				add(request)
			}
		}
		for _, row := range attached[e] {
			if f.times(cand.Row).meets(f.times(row)) {
				kids[row] = append(kids[row], cand.Row)
			}
		}
	}
	for row, executions := range kids {
		if f.Ended() {
			break
		}
		kids[row] = append(executions, f.Tree.Children(row)...)
		f.SortByEnd(kids[row])
	}
	return kids
}

// reachBack sets the reach of each execution: the time from the first start to the last end of itself and all
// executions linking to it, directly or not. It returns the target execution of each link, or NoExecution.
func (s *linkSearch) reachBack(found *Executions, shared []*candidate, turns []int32) (through []int32) {
	through = noRows(int32(len(s.forest.links)))
	for _, e := range slices.Backward(turns) {
		cand := shared[e]
		cand.reach = cand.reach.with(s.forest.times(cand.Row))
		for l := cand.first; l < cand.end; l++ {
			s.eachAbove(l, func(row int32) bool {
				of := found.Of[row]
				if of == NoExecution || found.List[of].Row != row || shared[of].turn >= cand.turn {
					return true
				}
				through[l] = of
				shared[of].reach = shared[of].reach.with(cand.reach)
				return false
			})
		}
	}
	return through
}

// eachAbove calls f with the target row of link l and the rows above it, up to the request, while f returns true.
func (s *linkSearch) eachAbove(l int32, f func(row int32) bool) {
	row := s.forest.Tree.target[l]
	for steps := 0; row != NoRow && steps < maxAbove; steps++ {
		if !f(row) || s.owner[row] == row {
			return
		}
		row = s.forest.Tree.Parent[row]
	}
}

// during is an interval of time; the zero value is empty.
type during struct{ from, to int64 }

// times returns the interval of row r, empty without a start or duration.
func (f *Forest) times(r int32) during {
	if !f.Has(r, FlagStart) || f.Duration(r) == 0 {
		return during{}
	}
	return during{f.Start(r), f.End(r)}
}

func (d during) meets(o during) bool { return d.from < o.to && o.from < d.to }

// with returns the interval from the first start to the last end of both.
func (d during) with(o during) during {
	if d == (during{}) {
		return o
	}
	if o == (during{}) {
		return d
	}
	return during{min(d.from, o.from), max(d.to, o.to)}
}

// PathChildren returns the possible nodes of the critical path directly below row r, last to end first: its children,
// and the executions with links to r and an overlap.
func (f *Forest) PathChildren(r int32) []int32 {
	if f.Executions.kids != nil {
		if kids, ok := f.Executions.kids[r]; ok {
			return kids
		}
	}
	return f.Tree.Children(r)
}
