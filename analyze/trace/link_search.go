package trace

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
)

// linkSearch finds shared executions among the candidates: the rows with links.
type linkSearch struct {
	forest  *Forest
	order   *Nesting
	owner   []int32         // the request of each row, without executions
	named   map[stamp]int32 // unread requests, by trace and span
	cands   []candidate
	nearest []int32 // the candidate at or above each row, or else of its named root, or NoExecution
	missing int64
	place   []int32 // 1 more than the index of each request in the current candidate's requests
	// most bounds the total numbers of requests and of rows inherited through links. passed counts inherited requests.
	most, passed int
}

const minPassed = 1 << 18

type candidate struct {
	Execution
	first, end int32 // of its links
	shared     bool
	begun      bool  // its prerequisites are pending
	turn       int32 // order of decision, from 1
	reach      during
	outer      int32 // the shared candidate around this one, possibly itself, once decided, or NoExecution
}

func newLinkSearch(f *Forest) *linkSearch {
	s := &linkSearch{forest: f, order: f.Nesting(), owner: f.requestOwners()}
	s.named = s.namedRequests()
	s.place = make([]int32, f.Len()+len(f.Names.Stamps.Values))
	s.most = max(minPassed, 4*f.Len())
	end := int32(0)
	for links := range order.RunsOf(f.links, func(l *rowLink) int32 { return l.row }) {
		row := links[0].row
		first := end
		end += int32(len(links))
		if f.Has(row, FlagDuplicate) {
			continue
		}
		for l := first; l < end; l++ {
			if f.Tree.target[l] == NoRow && s.namedRequest(l) == NoRow {
				s.missing++
			}
		}
		s.cands = append(s.cands, candidate{
			Execution: Execution{Row: row, Links: len(links)}, first: first, end: end, outer: NoExecution,
		})
	}
	at := make(map[int32]int32, len(s.cands))
	for c := range s.cands {
		at[s.cands[c].Row] = int32(c)
	}
	s.nearest = s.spread(at)
	return s
}

// namedRequests returns the unread requests named by operations as their roots, by trace and span.
func (s *linkSearch) namedRequests() map[stamp]int32 {
	f := s.forest
	named := make(map[stamp]int32)
	for r := range f.Rows() {
		number := f.Stamp(r)
		if number == 0 || f.Tree.stampRow[number] != NoRow {
			continue
		}
		v := f.Names.Stamps.Values[number]
		v.Name = ""
		if _, found := named[v]; !found && v.Span != 0 {
			named[v] = int32(f.Len()) + number
		}
	}
	return named
}

// spread assigns each row the number in at for the nearest row at or above it. Without one, it uses the root named
// by the topmost row and the rows above that root.
func (s *linkSearch) spread(at map[int32]int32) []int32 {
	numbers := noRows(s.forest.Rows())
	parent := s.forest.Tree.Parent
	for _, r := range s.order.rows {
		if number, ok := at[r]; ok {
			numbers[r] = number
		} else if parent[r] != NoRow {
			numbers[r] = numbers[parent[r]]
		}
	}
	inTree := slices.Clone(numbers)
	for _, r := range s.order.rows {
		switch above := s.above(r); {
		case numbers[r] != NoExecution || above == NoRow:
		case parent[r] == NoRow:
			numbers[r] = inTree[above]
		default:
			numbers[r] = numbers[above]
		}
	}
	return numbers
}

// above returns the parent of r, or else its named root if that was read, or NoRow.
func (s *linkSearch) above(r int32) int32 {
	if parent := s.forest.Tree.Parent[r]; parent != NoRow {
		return parent
	}
	if root := s.owner[r]; root != r && int(root) < s.forest.Len() {
		return root
	}
	return NoRow
}

// namedRequest returns the unread request at the target of link l if operations name it as their root, or NoRow.
func (s *linkSearch) namedRequest(l int32) int32 {
	link := &s.forest.links[l]
	if owner, ok := s.named[stamp{Trace: link.trace, Span: link.span}]; ok {
		return owner
	}
	return NoRow
}

// decideAll decides which candidates are shared executions, by start. A candidate is decided after the targets of its
// links and after the candidate above it, except in cycles.
func (s *linkSearch) decideAll() {
	pending := order.Numbers(len(s.cands), func(a, b int32) int {
		return s.forest.CompareStart(s.cands[b].Row, s.cands[a].Row)
	})
	for turn := int32(0); len(pending) > 0 && !s.forest.Ended(); {
		c := pending[len(pending)-1]
		cand := &s.cands[c]
		if !cand.begun {
			cand.begun = true
			pending = append(pending, s.needs(c)...)
			continue
		}
		pending = pending[:len(pending)-1]
		if cand.turn == 0 {
			s.decide(c)
			turn++
			cand.turn = turn
		}
	}
}

// needs returns the candidates to decide before candidate c, without candidates already begun.
func (s *linkSearch) needs(c int32) []int32 {
	var list []int32
	row := s.cands[c].Row
	above := s.above(row)
	add := func(r int32) {
		if r == NoRow || s.nearest[r] == NoExecution || s.cands[s.nearest[r]].begun {
			return
		}
		if r == above || !s.order.Within(r, row) {
			list = append(list, s.nearest[r])
		}
	}
	add(above)
	for l := s.cands[c].first; l < s.cands[c].end; l++ {
		add(s.forest.Tree.target[l])
	}
	return list
}

// decide decides whether candidate c is a shared execution: whether a link leads to a span not above c and to another
// request than its own. A shared execution works for all requests at the targets of its links, also through other
// executions.
func (s *linkSearch) decide(c int32) {
	cand := &s.cands[c]
	weighted := true
	attention := true // every link has an attention weight
	for l := cand.first; l < cand.end; l++ {
		target := s.forest.Tree.target[l]
		link := &s.forest.links[l]
		weighted = weighted && link.weight != noWeight
		attention = attention && link.attention != noWeight
		var found []int32
		if target == NoRow {
			if found = []int32{s.namedRequest(l)}; found[0] == NoRow {
				continue
			}
		} else {
			found = s.requestsAt(target, cand.Row)
		}
		if len(found) == 0 {
			continue
		}
		cand.Led++
		weighted = weighted && len(found) == 1
		attention = attention && len(found) == 1
		if s.passed += len(found) - 1; s.passed > s.most {
			found = found[:1]
		}
		outside := target == NoRow || !s.order.Within(cand.Row, target)
		for _, request := range found {
			cand.shared = cand.shared || outside && request != s.owner[cand.Row]
			s.add(&cand.Execution, request, link)
		}
	}
	for _, request := range cand.Requests {
		s.place[request] = 0
	}
	if !weighted {
		cand.Weights = nil
	}
	if !attention {
		cand.Attention = nil
	}
	if cand.shared {
		cand.outer = c
	} else if above := s.above(cand.Row); above != NoRow {
		cand.outer = s.executionAt(above)
	}
}

func (s *linkSearch) add(e *Execution, request int32, link *rowLink) {
	if s.place[request] == 0 {
		e.Requests = append(e.Requests, request)
		e.Weights = append(e.Weights, 0)
		e.Attention = append(e.Attention, 0)
		s.place[request] = int32(len(e.Requests))
	}
	i := s.place[request] - 1
	addWeight(&e.Weights[i], link.weight)
	addWeight(&e.Attention[i], link.attention)
}

// executionAt returns the decided shared candidate of row r, or NoExecution.
func (s *linkSearch) executionAt(r int32) int32 {
	if c := s.nearest[r]; c != NoExecution {
		return s.cands[c].outer
	}
	return NoExecution
}

// requestsAt returns the requests of row target, or of its execution. It returns nil if target is below row x, or if both
// are in one execution.
func (s *linkSearch) requestsAt(target, x int32) []int32 {
	if s.order.Within(target, x) {
		return nil
	}
	if e := s.executionAt(target); e != NoExecution {
		row := s.cands[e].Row
		if s.order.Within(row, x) || s.order.Within(x, row) {
			return nil
		}
		return s.cands[e].Requests
	}
	request := s.owner[target]
	if request == NoRow || int(request) < s.forest.Len() && s.order.Within(request, x) {
		return nil
	}
	return []int32{request}
}

// dropLost removes requests found to be part of executions, and reports whether it removed any. They occur only in cycles
// of links and roots. of is the execution of each row.
func (s *linkSearch) dropLost(of []int32) (dropped bool) {
	for c := range s.cands {
		cand := &s.cands[c]
		if !cand.shared {
			continue
		}
		kept := 0
		for i, request := range cand.Requests {
			if int(request) < s.forest.Len() && of[request] != NoExecution {
				dropped = true
				continue
			}
			for _, list := range [][]int64{cand.Weights, cand.Attention} {
				if list != nil {
					list[kept] = list[i]
				}
			}
			cand.Requests[kept] = request
			kept++
		}
		cand.Requests = cand.Requests[:kept]
		cand.Weights = cut(cand.Weights, kept)
		cand.Attention = cut(cand.Attention, kept)
		cand.shared = len(cand.Requests) > 0
	}
	return dropped
}

func cut(list []int64, n int) []int64 { return list[:min(n, len(list))] }
