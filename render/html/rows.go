package html

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// The numbers of kinds in the page's module rows that no operation of a device has.
const (
	kindSpan = 6
	kindHost = 7 // the host's view of an operation
)

// kindNumber returns the number of a node's kind in the page's module rows.
func kindNumber(n analyze.Node) uint64 {
	switch {
	case !n.IsOp():
		return kindSpan
	case n.Side() == op.SideHost:
		return kindHost
	}
	switch n.Kind() {
	case op.KindCompute:
		return 1
	case op.KindCollective:
		return 2
	case op.KindMemory:
		return 3
	case op.KindIO:
		return 4
	case op.KindControl:
		return 5
	}
	return 0
}

// row is an operation or a span, or several short operations that are drawn as one.
type row struct {
	node       analyze.Node // the first of them
	start      int64        // Unix nanoseconds
	duration   int64        // the sum of theirs
	self       int64
	memory     int64
	flops      int64
	count      int64
	longest    int64
	shape      int // in shapes, 0 where they differ
	step       int // in steps plus one, 0 where they differ
	collective int // its number plus one, 0 for none
}

// none is the row of nodes that are not drawn, and the request of those of none.
const none = -1

// rows holds the operations and spans of the page, ordered by start, and the
// tables that their columns refer to. Nodes without a start and repeats are left
// out.
type rows struct {
	list    []row
	index   []int32 // the row of each node, by analyze.Node.Index
	request []int32 // of operations and the spans above them, likewise
	origin  int64   // Unix nanoseconds at the page's time 0
	span    int64   // nanoseconds from there to the last end
	leftOut int
	merged  merged

	names   dictionary[string]
	devices dictionary[analyze.DeviceKey]
	shapes  dictionary[string]
	steps   dictionary[int64]
}

// dictionary numbers values in the order of their first appearance.
type dictionary[T comparable] struct {
	index  map[T]int
	values []T
}

func (d *dictionary[T]) number(v T) int {
	n, ok := d.index[v]
	if !ok {
		if d.index == nil {
			d.index = make(map[T]int)
		}
		n = len(d.values)
		d.index[v] = n
		d.values = append(d.values, v)
	}
	return n
}

// newRows orders the nodes of a forest.
func newRows(forest *analyze.Forest) *rows {
	r := new(rows)
	r.shapes.number("")
	if forest == nil {
		return r
	}
	r.request = slices.Repeat([]int32{none}, forest.Len())
	for n := range forest.Nodes() {
		if !n.Start().Known || n.IsDuplicate() {
			r.leftOut++
			continue
		}
		one := row{
			node: n, start: n.Start().V, duration: n.Duration(), self: n.SelfTimeNS(), memory: n.MemoryBytes(), flops: n.FLOPs(),
			count: 1, longest: n.Duration(), shape: r.shapes.number(n.Shapes()),
		}
		if s := n.Step(); s.Known {
			one.step = r.steps.number(s.V) + 1
		}
		r.list = append(r.list, one)
	}
	slices.SortStableFunc(r.list, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.duration, a.duration))
	})
	for i := range r.list {
		if i == 0 {
			r.origin = r.list[0].start
		}
		r.span = max(r.span, r.list[i].start+r.list[i].duration-r.origin)
	}
	r.numberDevices()
	r.reindex(forest.Len())
	number := 0
	for parts := range forest.Collectives() {
		number++
		for _, n := range parts {
			if at := r.index[n.Index()]; at != none {
				r.list[at].collective = number
			}
		}
	}
	return r
}

// reindex finds the rows of the nodes.
func (r *rows) reindex(nodes int) {
	r.index = slices.Repeat([]int32{none}, nodes)
	for i := range r.list {
		r.index[r.list[i].node.Index()] = int32(i)
	}
}

// numberDevices numbers the devices in the order in which people list them.
func (r *rows) numberDevices() {
	for i := range r.list {
		if n := r.list[i].node; n.IsOp() {
			r.devices.number(n.Device())
		}
	}
	sorted := slices.Clone(r.devices.values)
	slices.SortFunc(sorted, analyze.DeviceKey.Compare)
	r.devices = dictionary[analyze.DeviceKey]{}
	for _, k := range sorted {
		r.devices.number(k)
	}
}

// setRequest records that the operations of q, and the spans between them and
// its root, belong to request number i.
func (r *rows) setRequest(q *analyze.Request, i int) {
	r.request[q.Root.Index()] = int32(i)
	for n := range q.Operations() {
		for !n.IsZero() && r.request[n.Index()] == none {
			r.request[n.Index()] = int32(i)
			n = n.Parent()
		}
	}
}

// parentOf returns the row above row i, none for none.
func (r *rows) parentOf(i int) int32 {
	p := r.list[i].node.Parent()
	if p.IsZero() {
		return none
	}
	return r.index[p.Index()]
}

// maxLinks bounds the links that a page can draw.
const maxLinks = 20_000

// links returns the rows that links lead from and to, and how many links there are.
func (r *rows) links() (pairs [][2]int32, total int) {
	pairs = [][2]int32{}
	for i := range r.list {
		for to := range r.list[i].node.Links() {
			at := r.index[to.Index()]
			if at == none {
				continue
			}
			if total++; total <= maxLinks {
				pairs = append(pairs, [2]int32{int32(i), at})
			}
		}
	}
	return pairs, total
}
