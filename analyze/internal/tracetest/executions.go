package tracetest

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// FindExecutions finds the shared executions. It returns false for cyclic links: the result then depends on the first
// spec.
func (n *NaiveTree) FindExecutions() bool {
	n.Led = make(map[int]int)
	n.WorksFor = make(map[int][]int)
	n.Weights = make(map[int][]int64)
	n.Attention = make(map[int][]int64)
	n.deciding = make(map[int]bool)
	n.Execution = make([]int, len(n.Specs))
	for i := range n.Specs {
		if n.isShared(i) {
			n.Executions = append(n.Executions, i)
		}
	}
	for i := range n.Specs {
		n.Execution[i] = n.executionOf(i)
	}
	return !n.circle
}

// executionOf returns the execution of spec i, by the tree or by its request.
func (n *NaiveTree) executionOf(i int) int {
	if e := n.executionAt(i); e >= 0 {
		return e
	}
	if owner := n.NaiveOwner(i); owner >= 0 && owner < len(n.Specs) {
		return n.executionAt(owner)
	}
	return -1
}

// executionAt returns the execution at or above spec i, or else at or above the root named by the topmost spec.
func (n *NaiveTree) executionAt(i int) int {
	if n.Duplicate[i] {
		return -1
	}
	if e := n.nearest(i, n.isShared); e >= 0 {
		return e
	}
	line := n.upward(i)
	top := line[len(line)-1]
	if root := n.NaiveOwner(top); root >= 0 && root < len(n.Specs) && root != top {
		return n.nearest(root, n.isShared)
	}
	return -1
}

// nearest returns the first match at or above spec i or -1.
func (n *NaiveTree) nearest(i int, holds func(int) bool) int {
	for ; i >= 0 && !holds(i); i = n.Parent[i] {
	}
	return i
}

func (n *NaiveTree) upward(i int) (line []int) {
	for ; i >= 0; i = n.Parent[i] {
		line = append(line, i)
	}
	return line
}

func (n *NaiveTree) isWithin(i, above int) bool { return slices.Contains(n.upward(i), above) }

// isShared reports whether spec i is a shared execution, and finds its requests.
func (n *NaiveTree) isShared(i int) bool {
	if requests, decided := n.WorksFor[i]; decided {
		return len(requests) > 0
	}
	if len(n.Specs[i].Links) == 0 || n.Duplicate[i] {
		return false
	}
	if n.deciding[i] {
		n.circle = true
		return false
	}
	n.deciding[i] = true
	if n.Parent[i] >= 0 {
		n.executionAt(n.Parent[i]) // may lead into a cycle
	}
	var requests []int
	var weights, attention []int64
	weighted := true
	attended := true
	shared := false
	led := 0
	for _, l := range n.Specs[i].Links {
		found, outside := n.linkedRequests(i, l)
		for _, request := range found {
			at := slices.Index(requests, request)
			if at < 0 {
				at = len(requests)
				requests = append(requests, request)
				weights = append(weights, 0)
				attention = append(attention, 0)
			}
			weights[at] += l.Weight.V
			attention[at] += l.Attention.V
			shared = shared || outside && request != n.NaiveOwner(i)
		}
		if len(found) > 0 {
			led++
		}
		weighted = weighted && l.Weight.Known && len(found) <= 1
		attended = attended && l.Attention.Known && len(found) <= 1
	}
	if !shared {
		requests = nil
	}
	if !weighted {
		weights = nil
	}
	if !attended {
		attention = nil
	}
	n.WorksFor[i] = requests
	n.Weights[i] = weights
	n.Attention[i] = attention
	n.Led[i] = led
	return shared
}

// MissingLinks counts the links to missing spans, except roots named by operations.
func (n *NaiveTree) MissingLinks() (missing int) {
	for i, s := range n.Specs {
		for _, l := range s.Links {
			if !n.Duplicate[i] && n.target(l) < 0 && n.naming(l) < 0 {
				missing++
			}
		}
	}
	return missing
}

func (n *NaiveTree) target(l op.Link) int {
	return slices.IndexFunc(n.Specs, func(s Spec) bool { return idOf(s.ID) == l.SpanID && s.TraceID() == l.TraceID })
}

// naming returns the first operation with l's target as its root, or -1.
func (n *NaiveTree) naming(l op.Link) int {
	return slices.IndexFunc(n.Specs, func(o Spec) bool {
		return o.IsOp && o.Root != "" && idOf(o.RootID) == l.SpanID && o.TraceID() == l.TraceID
	})
}

// linkedRequests returns the requests at the target of a link of spec i. outside reports whether i is not below the
// target.
func (n *NaiveTree) linkedRequests(i int, l op.Link) (requests []int, outside bool) {
	target := n.target(l)
	if target < 0 {
		named := n.naming(l)
		if named < 0 {
			return nil, false
		}
		return []int{len(n.Specs) + named}, true
	}
	if n.isWithin(target, i) {
		return nil, false
	}
	outside = !n.isWithin(i, target)
	if e := n.executionAt(target); e >= 0 {
		if n.isWithin(e, i) || n.isWithin(i, e) {
			return nil, false
		}
		return n.WorksFor[e], outside
	}
	request := n.NaiveOwner(target)
	if request >= 0 && request < len(n.Specs) && n.executionAt(request) >= 0 {
		n.circle = true // not cyclic, but equally unusual
	}
	if request < 0 || request < len(n.Specs) && n.isWithin(request, i) {
		return nil, false
	}
	return []int{request}, outside
}

// SharedOps returns operations of executions working for the request or below it.
func (n *NaiveTree) SharedOps(request int) []int {
	var list []int
	for i, s := range n.Specs {
		if !s.IsOp || n.Duplicate[i] {
			continue
		}
		for e := n.Execution[i]; e >= 0; {
			if slices.Contains(n.WorksFor[e], request) || n.Parent[e] >= 0 && n.Execution[n.Parent[e]] < 0 &&
				n.NaiveOwner(n.Parent[e]) == request {
				list = append(list, i)
				break
			}
			if n.Parent[e] < 0 {
				break
			}
			e = n.executionAt(n.Parent[e])
		}
	}
	return list
}

// PathChildren returns the children of i and the executions attached below it.
func (n *NaiveTree) PathChildren(i int) []int {
	list := n.Children(i)
	for _, e := range n.Executions {
		if slices.Contains(n.attached(e), i) && !n.isWithin(e, i) && !n.isWithin(i, e) {
			list = append(list, e)
		}
	}
	return list
}

// attached returns the specs above execution e: its link targets and the specs above them, up to the request or to
// another execution, with the specs above that.
func (n *NaiveTree) attached(e int) []int {
	var list []int
	for _, l := range n.Specs[e].Links {
		for i := n.target(l); i >= 0; i = n.Parent[i] {
			list = append(list, i)
			if i != e && n.isShared(i) && !n.isWithin(i, e) {
				list = append(list, n.attached(i)...)
				break
			}
			if n.IsLocalRoot(i) {
				break
			}
		}
	}
	for _, request := range n.WorksFor[e] {
		if request < len(n.Specs) {
			list = append(list, request)
		}
	}
	return list
}

// IsSharedTrace reports whether all roots are executions for requests with a start.
func (n *NaiveTree) IsSharedTrace(roots []int) bool {
	return !slices.ContainsFunc(roots, func(r int) bool {
		return !n.isShared(r) || !slices.ContainsFunc(n.WorksFor[r], func(q int) bool {
			return q < len(n.Specs) && !n.Specs[q].Timeless && n.Specs[q].Trace != 0
		})
	})
}

type naiveExecutions struct {
	Execution  []int         // of each spec, -1 for none
	Executions []int         // the specs of executions
	WorksFor   map[int][]int // requests of each execution
	Weights    map[int][]int64
	Attention  map[int][]int64
	Led        map[int]int // number of links to a request
	deciding   map[int]bool
	circle     bool
}
