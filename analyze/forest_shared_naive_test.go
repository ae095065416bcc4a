package analyze

import "slices"

// findExecutions finds the shared executions. It returns false where links lead in a
// circle: what is found then depends on where one begins.
func (n *naiveTree) findExecutions() bool {
	n.worksFor, n.weights, n.deciding = make(map[int][]int), make(map[int][]int64), make(map[int]bool)
	n.execution = make([]int, len(n.specs))
	for i := range n.specs {
		if n.isShared(i) {
			n.executions = append(n.executions, i)
		}
	}
	for i := range n.specs {
		n.execution[i] = n.executionOf(i)
	}
	return !n.circle
}

// executionOf returns the execution that spec i belongs to, by the tree or by its
// request.
func (n *naiveTree) executionOf(i int) int {
	if e := n.executionAt(i); e >= 0 {
		return e
	}
	if owner := n.naiveOwner(i); owner >= 0 && owner < len(n.specs) {
		return n.executionAt(owner)
	}
	return -1
}

// executionAt returns the execution at or above spec i, or else at or above the root
// that the topmost spec names.
func (n *naiveTree) executionAt(i int) int {
	if n.duplicate[i] {
		return -1
	}
	if e := n.executionAbove(i); e >= 0 {
		return e
	}
	for n.parent[i] >= 0 {
		i = n.parent[i]
	}
	if root := n.naiveOwner(i); root >= 0 && root < len(n.specs) && root != i {
		return n.executionAbove(root)
	}
	return -1
}

func (n *naiveTree) executionAbove(i int) int {
	for ; i >= 0; i = n.parent[i] {
		if n.isShared(i) {
			return i
		}
	}
	return -1
}

func (n *naiveTree) isWithin(i, above int) bool {
	for ; i >= 0; i = n.parent[i] {
		if i == above {
			return true
		}
	}
	return false
}

// isShared reports whether spec i is a shared execution, and finds its requests.
func (n *naiveTree) isShared(i int) bool {
	if requests, decided := n.worksFor[i]; decided {
		return len(requests) > 0
	}
	if len(n.specs[i].links) == 0 || n.duplicate[i] {
		return false
	}
	if n.deciding[i] {
		n.circle = true
		return false
	}
	n.deciding[i] = true
	var requests []int
	var weights []int64
	weighted, shared := true, false
	for _, l := range n.specs[i].links {
		found, outside := n.linkedRequests(i, l)
		for _, request := range found {
			at := slices.Index(requests, request)
			if at < 0 {
				at = len(requests)
				requests, weights = append(requests, request), append(weights, 0)
			}
			weights[at] += l.weight.V
			shared = shared || outside && request != n.naiveOwner(i)
		}
		if len(found) > 0 && (!l.weight.Known || len(found) > 1) {
			weighted = false
		}
	}
	if !shared {
		requests = nil
	}
	if !weighted {
		weights = nil
	}
	n.worksFor[i], n.weights[i] = requests, weights
	return shared
}

// missingLinks counts the links to spans that are not there and that no operation
// names as its root.
func (n *naiveTree) missingLinks() (missing int) {
	for i, s := range n.specs {
		for _, l := range s.links {
			named := slices.ContainsFunc(n.specs, func(o spec) bool { return o.isOp && o.root != "" && o.rootID == l.id && o.trace == l.trace })
			if !n.duplicate[i] && n.lookUp(l.trace, l.id) < 0 && !named {
				missing++
			}
		}
	}
	return missing
}

// linkedRequests returns the requests that a link of spec i leads to, and whether
// the span lies above i.
func (n *naiveTree) linkedRequests(i int, l specLink) (requests []int, outside bool) {
	target := n.lookUp(l.trace, l.id)
	if target < 0 {
		named := slices.IndexFunc(n.specs, func(o spec) bool { return o.isOp && o.root != "" && o.rootID == l.id && o.trace == l.trace })
		if named < 0 || l.id == 0 {
			return nil, false
		}
		return []int{len(n.specs) + named}, true
	}
	if n.isWithin(target, i) {
		return nil, false
	}
	outside = !n.isWithin(i, target)
	if e := n.executionAt(target); e >= 0 {
		if n.isWithin(e, i) || n.isWithin(i, e) {
			return nil, false
		}
		return n.worksFor[e], outside
	}
	request := n.naiveOwner(target)
	if request >= 0 && request < len(n.specs) && n.executionAt(request) >= 0 {
		n.circle = true // not one, but as far from what anybody writes
	}
	if request < 0 || request < len(n.specs) && n.isWithin(request, i) {
		return nil, false
	}
	return []int{request}, outside
}

// sharedOps returns the operations that cover a request beside its own: those of the
// executions that work for it or lie below it, and of what lies below these.
func (n *naiveTree) sharedOps(request int) []int {
	var list []int
	for i, s := range n.specs {
		if !s.isOp || n.duplicate[i] {
			continue
		}
		for e := n.execution[i]; e >= 0; {
			if slices.Contains(n.worksFor[e], request) || n.parent[e] >= 0 && n.execution[n.parent[e]] < 0 && n.naiveOwner(n.parent[e]) == request {
				list = append(list, i)
				break
			}
			if n.parent[e] < 0 {
				break
			}
			e = n.executionAt(n.parent[e])
		}
	}
	return list
}

// pathChildren returns the children of i and the executions that stand below it.
func (n *naiveTree) pathChildren(i int) []int {
	list := n.children(i)
	for _, e := range n.executions {
		if slices.Contains(n.attached(e), i) && !n.isWithin(e, i) && !n.isWithin(i, e) {
			list = append(list, e)
		}
	}
	return list
}

// attached returns the specs that execution e stands below: those that it links to and
// those above, up to the request or, through an execution, to those of that.
func (n *naiveTree) attached(e int) []int {
	var list []int
	for _, l := range n.specs[e].links {
		for i := n.lookUp(l.trace, l.id); i >= 0; i = n.parent[i] {
			list = append(list, i)
			if i != e && n.isShared(i) && !n.isWithin(i, e) {
				list = append(list, n.attached(i)...)
				break
			}
			if n.isLocalRoot(i) {
				break
			}
		}
	}
	for _, request := range n.worksFor[e] {
		if request < len(n.specs) {
			list = append(list, request)
		}
	}
	return list
}

// isSharedTrace reports whether the roots are executions alone that work for requests
// with a start.
func (n *naiveTree) isSharedTrace(roots []int) bool {
	return !slices.ContainsFunc(roots, func(r int) bool {
		return !n.isShared(r) || !slices.ContainsFunc(n.worksFor[r], func(q int) bool {
			return q < len(n.specs) && !n.specs[q].timeless && n.specs[q].trace != 0
		})
	})
}

// naiveExecutions are the shared executions by the plainest means.
type naiveExecutions struct {
	execution  []int         // of each spec, -1 for none
	executions []int         // the specs that are one
	worksFor   map[int][]int // the requests of each
	weights    map[int][]int64
	deciding   map[int]bool
	circle     bool
}
