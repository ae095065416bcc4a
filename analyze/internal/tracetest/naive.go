package tracetest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/device"
)

// NaiveTree is the tree of specs, found by comparing each span with all others.
type NaiveTree struct {
	Specs     []Spec
	Parent    []int // -1 for none
	Duplicate []bool
	Repeat    []bool
	Orphans   int
	Repeated  int
	Cycles    int
	naiveExecutions
}

// NewNaiveTree returns the tree of specs.
func NewNaiveTree(specs []Spec) *NaiveTree {
	n := &NaiveTree{
		Specs: specs, Parent: make([]int, len(specs)), Duplicate: make([]bool, len(specs)),
		Repeat: make([]bool, len(specs)),
	}
	for i, s := range specs {
		for _, before := range specs[:i] {
			if s.Trace == 0 || s.ID == 0 || before.Trace != s.Trace || before.ID != s.ID {
				continue
			}
			n.Duplicate[i] = true
			n.Repeat[i] = n.Repeat[i] || s.IsOp == before.IsOp && s.Side == before.Side &&
				s.Timeless == before.Timeless && s.End-s.Start == before.End-before.Start &&
				(s.Timeless || s.Start == before.Start)
		}
		if n.Repeat[i] {
			n.Repeated++
		}
	}
	for i, s := range specs {
		n.Parent[i] = -1
		if n.Duplicate[i] || s.Parent == 0 {
			continue
		}
		n.Parent[i] = n.LookUp(s.Trace, s.Parent)
		if n.Parent[i] < 0 && s.IsOp {
			n.Orphans++
		}
	}
	n.breakCycles()
	return n
}

// LookUp returns the index of the first spec with these ids or -1.
func (n *NaiveTree) LookUp(trace byte, id uint64) int {
	if trace == 0 || id == 0 {
		return -1
	}
	return slices.IndexFunc(n.Specs, func(s Spec) bool { return s.Trace == trace && s.ID == id })
}

func (n *NaiveTree) breakCycles() {
	for i := range n.Specs {
		ring := []int{i}
		at := n.Parent[i]
		for at >= 0 && at != i && len(ring) <= len(n.Specs) {
			ring = append(ring, at)
			at = n.Parent[at]
		}
		if at != i {
			continue
		}
		n.Cycles++
		n.Parent[slices.MinFunc(ring, n.CompareStart)] = -1
	}
}

// CompareStart orders specs by start and end, then by depth, ids, name and index.
func (n *NaiveTree) CompareStart(i, j int) int {
	a := n.Specs[i]
	b := n.Specs[j]
	if a.Timeless != b.Timeless {
		if a.Timeless {
			return 1
		}
		return -1
	}
	if a.Timeless {
		a.End -= a.Start
		a.Start = 0
		b.End -= b.Start
		b.Start = 0
	}
	if a.Trace == 0 {
		a.ID = 0
	}
	if b.Trace == 0 {
		b.ID = 0
	}
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(n.depth(i), n.depth(j)),
		cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name), cmp.Compare(i, j))
}

// depth returns the number of specs above i; within a ring it exceeds the number of specs.
func (n *NaiveTree) depth(i int) (depth int) {
	for ; n.Parent[i] >= 0 && depth <= len(n.Specs); depth++ {
		i = n.Parent[i]
	}
	return depth
}

// Children returns the children of i.
func (n *NaiveTree) Children(i int) []int {
	var list []int
	for c := range n.Specs {
		if i >= 0 && n.Parent[c] == i && !n.Duplicate[c] {
			list = append(list, c)
		}
	}
	return list
}

// Roots returns the specs of a trace without a parent.
func (n *NaiveTree) Roots(trace byte) []int {
	var list []int
	for i, s := range n.Specs {
		if s.Trace == trace && n.Parent[i] < 0 && !n.Duplicate[i] {
			list = append(list, i)
		}
	}
	return list
}

// OpsBelow returns the nearest operations below i.
func (n *NaiveTree) OpsBelow(i int) []int {
	var list []int
	for _, c := range n.Children(i) {
		if n.Specs[c].IsOp {
			list = append(list, c)
		} else {
			list = append(list, n.OpsBelow(c)...)
		}
	}
	return list
}

// Self returns the self time of operation i, nanosecond by nanosecond.
func (n *NaiveTree) Self(i int) int64 {
	s := n.Specs[i]
	if s.Timeless || n.Duplicate[i] {
		return s.End - s.Start
	}
	self := int64(0)
	for at := s.Start; at < s.End; at++ {
		if !slices.ContainsFunc(n.OpsBelow(i), func(c int) bool { return n.Specs[c].RunsAt(at) }) {
			self++
		}
	}
	return self
}

// RunsAt reports whether s is running at a time.
func (s Spec) RunsAt(at int64) bool { return !s.Timeless && s.Start <= at && at < s.End }

// OnDevice returns the specs that count for a device.
func OnDevice(specs []Spec, key device.Key) []Spec {
	return slices.DeleteFunc(slices.Clone(specs), func(s Spec) bool { return !s.DeviceSide() || s.DeviceKey() != key })
}

// DevicesOf returns the devices of specs, by rank and name.
func DevicesOf(specs []Spec) []device.Key {
	keys := make(map[device.Key]bool)
	for _, s := range specs {
		if s.DeviceSide() {
			keys[s.DeviceKey()] = true
		}
	}
	return slices.SortedFunc(maps.Keys(keys), device.Key.Compare)
}

// Extent returns the first start and the last end; ok is false without starts.
func Extent(specs []Spec) (first, last int64, ok bool) {
	for _, s := range specs {
		if s.Timeless {
			continue
		}
		if !ok {
			first = s.Start
			last = s.End
			ok = true
		}
		first, last = min(first, s.Start), max(last, s.End)
	}
	return first, last, ok
}

// NaiveOwner returns the request of spec i: the index of its span, or the number of specs plus the index of the first
// operation naming it or -1.
func (n *NaiveTree) NaiveOwner(i int) int {
	if n.IsLocalRoot(i) {
		return i
	}
	if n.Parent[i] >= 0 {
		if owner := n.NaiveOwner(n.Parent[i]); owner >= 0 {
			return owner
		}
	}
	if n.Specs[i].IsOp {
		return n.named(i)
	}
	return -1
}

func (n *NaiveTree) named(i int) int {
	s := n.Specs[i]
	if s.Root == "" {
		return -1
	}
	if root := n.LookUp(s.Trace, s.RootID); root >= 0 {
		if n.Specs[root].IsOp {
			return -1
		}
		return root
	}
	return len(n.Specs) + slices.IndexFunc(n.Specs, func(o Spec) bool {
		return o.IsOp && o.Root == s.Root && o.RootID == s.RootID && o.Trace == s.Trace
	})
}

// IsLocalRoot reports whether spec i is the first of its process.
func (n *NaiveTree) IsLocalRoot(i int) bool {
	s := n.Specs[i]
	return !s.IsOp && !n.Duplicate[i] && (n.Parent[i] < 0 || s.Remote ||
		slices.ContainsFunc(n.Specs, func(o Spec) bool {
			return o.IsOp && o.Root != "" && n.LookUp(o.Trace, o.RootID) == i
		}))
}
