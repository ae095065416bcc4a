package analyze

import (
	"cmp"
	"slices"
)

// naiveTree is the tree by the plainest means: for each span, all others are
// looked at. It is what the figures are compared with.
type naiveTree struct {
	specs     []spec
	parent    []int // -1 for none
	duplicate []bool
	repeat    []bool
	orphans   int
	repeated  int
	cycles    int
	naiveExecutions
}

func newNaiveTree(specs []spec) *naiveTree {
	n := &naiveTree{
		specs: specs, parent: make([]int, len(specs)), duplicate: make([]bool, len(specs)), repeat: make([]bool, len(specs)),
	}
	for i, s := range specs {
		for _, before := range specs[:i] {
			if s.trace == 0 || s.id == 0 || before.trace != s.trace || before.id != s.id {
				continue
			}
			n.duplicate[i] = true
			n.repeat[i] = n.repeat[i] || s.isOp == before.isOp && s.side == before.side &&
				s.timeless == before.timeless && s.end-s.start == before.end-before.start && (s.timeless || s.start == before.start)
		}
		if n.repeat[i] {
			n.repeated++
		}
	}
	for i, s := range specs {
		n.parent[i] = -1
		if n.duplicate[i] || s.parent == 0 {
			continue
		}
		n.parent[i] = n.lookUp(s.trace, s.parent)
		if n.parent[i] < 0 && s.isOp {
			n.orphans++
		}
	}
	n.breakCycles()
	return n
}

// lookUp returns the first spec with these ids.
func (n *naiveTree) lookUp(trace byte, id uint64) int {
	if trace == 0 || id == 0 {
		return -1
	}
	return slices.IndexFunc(n.specs, func(s spec) bool { return s.trace == trace && s.id == id })
}

func (n *naiveTree) breakCycles() {
	for i := range n.specs {
		ring := []int{i}
		at := n.parent[i]
		for at >= 0 && at != i && len(ring) <= len(n.specs) {
			ring = append(ring, at)
			at = n.parent[at]
		}
		if at != i {
			continue
		}
		n.cycles++
		n.parent[slices.MinFunc(ring, n.compareStart)] = -1
	}
}

func (n *naiveTree) compareStart(i, j int) int {
	a, b := n.specs[i], n.specs[j]
	if a.timeless != b.timeless {
		if a.timeless {
			return 1
		}
		return -1
	}
	if a.timeless {
		a.end, a.start, b.end, b.start = a.end-a.start, 0, b.end-b.start, 0
	}
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(i, j))
}

// children returns the children of i, or with -1 the roots of a trace.
func (n *naiveTree) children(i int) []int {
	var list []int
	for c := range n.specs {
		if i >= 0 && n.parent[c] == i && !n.duplicate[c] {
			list = append(list, c)
		}
	}
	return list
}

// roots returns what has no parent in a trace.
func (n *naiveTree) roots(trace byte) []int {
	var list []int
	for i, s := range n.specs {
		if s.trace == trace && n.parent[i] < 0 && !n.duplicate[i] {
			list = append(list, i)
		}
	}
	return list
}

// opsBelow returns the nearest operations below i.
func (n *naiveTree) opsBelow(i int) []int {
	var list []int
	for _, c := range n.children(i) {
		if n.specs[c].isOp {
			list = append(list, c)
		} else {
			list = append(list, n.opsBelow(c)...)
		}
	}
	return list
}

// self returns the self time of operation i, nanosecond by nanosecond.
func (n *naiveTree) self(i int) int64 {
	s := n.specs[i]
	if s.timeless || n.duplicate[i] {
		return s.end - s.start
	}
	self := int64(0)
	for at := s.start; at < s.end; at++ {
		if !slices.ContainsFunc(n.opsBelow(i), func(c int) bool { return n.specs[c].runsAt(at) }) {
			self++
		}
	}
	return self
}

func (s spec) runsAt(at int64) bool { return !s.timeless && s.start <= at && at < s.end }

// onDevice returns the specs that count for a device, with a start or not.
func onDevice(specs []spec, key DeviceKey) []spec {
	var list []spec
	for _, s := range specs {
		if s.deviceSide() && s.deviceKey() == key {
			list = append(list, s)
		}
	}
	return list
}

// devicesOf returns the devices of specs, by rank and name.
func devicesOf(specs []spec) []DeviceKey {
	var keys []DeviceKey
	for _, s := range specs {
		if s.deviceSide() && !slices.Contains(keys, s.deviceKey()) {
			keys = append(keys, s.deviceKey())
		}
	}
	slices.SortFunc(keys, DeviceKey.Compare)
	return keys
}

// extent returns the first start and the last end; ok is false without starts.
func extent(specs []spec) (first, last int64, ok bool) {
	for _, s := range specs {
		if s.timeless {
			continue
		}
		if !ok {
			first, last, ok = s.start, s.end, true
		}
		first, last = min(first, s.start), max(last, s.end)
	}
	return first, last, ok
}

// naiveOwner returns the request that spec i belongs to, told by the index of
// its span, or by that of the first operation that names it plus the number of
// specs; -1 is none.
func (n *naiveTree) naiveOwner(i int) int {
	if n.isLocalRoot(i) {
		return i
	}
	if n.parent[i] >= 0 {
		if owner := n.naiveOwner(n.parent[i]); owner >= 0 {
			return owner
		}
	}
	if n.specs[i].isOp {
		return n.named(i)
	}
	return -1
}

// named returns the request that operation i names as its root.
func (n *naiveTree) named(i int) int {
	s := n.specs[i]
	if s.root == "" {
		return -1
	}
	if root := n.lookUp(s.trace, s.rootID); root >= 0 {
		if n.specs[root].isOp {
			return -1
		}
		return root
	}
	return len(n.specs) + slices.IndexFunc(n.specs, func(o spec) bool {
		return o.isOp && o.root == s.root && o.rootID == s.rootID && o.trace == s.trace
	})
}

func (n *naiveTree) isLocalRoot(i int) bool {
	s := n.specs[i]
	return !s.isOp && !n.duplicate[i] && (n.parent[i] < 0 || s.remote || slices.ContainsFunc(n.specs, func(o spec) bool {
		return o.isOp && o.root != "" && n.lookUp(o.trace, o.rootID) == i
	}))
}
