package html

import (
	"cmp"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"io"
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
)

// kindNumber returns the number of a node's kind in the page's module rows.
func kindNumber(n analyze.Node) uint64 {
	if !n.IsOp() {
		return 6
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

// rows holds the operations and spans of the page, ordered by start, and the
// tables that their columns refer to. Nodes without a start are left out, and
// so are the host's views of operations, which would stand there twice.
type rows struct {
	nodes   []analyze.Node
	index   map[int]int32 // of each node, by analyze.Node.Index
	origin  int64         // Unix nanoseconds at the page's time 0
	span    int64         // nanoseconds from there to the last end
	leftOut int

	names   dictionary[string]
	devices dictionary[analyze.DeviceKey]
	shapes  dictionary[string]
	steps   dictionary[int64]
	request map[int]int // of operations and the spans above them, by analyze.Node.Index
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
	r := &rows{index: make(map[int]int32), request: make(map[int]int)}
	r.shapes.number("")
	if forest == nil {
		return r
	}
	for n := range forest.Nodes() {
		if !n.Start().Known || n.IsDuplicate() || n.Side() == op.SideHost {
			r.leftOut++
			continue
		}
		r.nodes = append(r.nodes, n)
	}
	slices.SortStableFunc(r.nodes, func(a, b analyze.Node) int {
		return cmp.Or(cmp.Compare(a.Start().V, b.Start().V), cmp.Compare(b.Duration(), a.Duration()))
	})
	for i, n := range r.nodes {
		r.index[n.Index()] = int32(i)
		if i == 0 {
			r.origin = n.Start().V
		}
		r.span = max(r.span, n.Start().V+n.Duration()-r.origin)
	}
	// Devices in the order in which people list them.
	var devices []analyze.DeviceKey
	for _, n := range r.nodes {
		if n.IsOp() {
			if k := n.Device(); r.devices.number(k) == len(devices) {
				devices = append(devices, k)
			}
		}
	}
	slices.SortFunc(devices, analyze.DeviceKey.Compare)
	r.devices = dictionary[analyze.DeviceKey]{}
	for _, k := range devices {
		r.devices.number(k)
	}
	return r
}

// setRequest records that the operations of q, and the spans between them and
// its root, belong to request number i.
func (r *rows) setRequest(q *analyze.Request, i int) {
	r.request[q.Root.Index()] = i
	for n := range q.Operations() {
		for !n.IsZero() {
			if _, ok := r.request[n.Index()]; ok {
				break
			}
			r.request[n.Index()] = i
			n = n.Parent()
		}
	}
}

// encode writes the columns as the page's function decodeRows reads them,
// compressed and in base64.
func (r *rows) encode(w io.Writer, level int) error {
	text := base64.NewEncoder(base64.StdEncoding, w)
	deflate, err := flate.NewWriter(text, level)
	if err != nil {
		return err
	}
	buf := make([]byte, 0, 64<<10)
	column := func(value func(i int, n analyze.Node) uint64) {
		for i, n := range r.nodes {
			buf = binary.AppendUvarint(buf, value(i, n))
			if len(buf) > 60<<10 {
				if _, e := deflate.Write(buf); err == nil {
					err = e
				}
				buf = buf[:0]
			}
		}
	}
	before := r.origin
	column(func(_ int, n analyze.Node) uint64 {
		d := n.Start().V - before
		before = n.Start().V
		return uint64(d)
	})
	column(func(_ int, n analyze.Node) uint64 { return uint64(n.Duration()) })
	column(func(_ int, n analyze.Node) uint64 { return uint64(n.SelfTimeNS()) })
	column(func(_ int, n analyze.Node) uint64 { return uint64(r.names.number(n.Name())) })
	column(func(_ int, n analyze.Node) uint64 { return kindNumber(n) })
	column(func(_ int, n analyze.Node) uint64 {
		if !n.IsOp() {
			return 0
		}
		return uint64(r.devices.number(n.Device()) + 1)
	})
	column(func(_ int, n analyze.Node) uint64 { return optional(n.Stream()) })
	column(func(i int, n analyze.Node) uint64 { return r.parent(i, n) })
	column(func(_ int, n analyze.Node) uint64 {
		q, ok := r.request[n.Index()]
		if !ok {
			return 0
		}
		return uint64(q + 1)
	})
	column(func(_ int, n analyze.Node) uint64 { return uint64(r.shapes.number(n.Shapes())) })
	column(func(_ int, n analyze.Node) uint64 { return positive(n.MemoryBytes()) })
	column(func(_ int, n analyze.Node) uint64 { return positive(n.FLOPs()) })
	column(func(_ int, n analyze.Node) uint64 {
		if s := n.Step(); s.Known {
			return uint64(r.steps.number(s.V) + 1)
		}
		return 0
	})
	if _, e := deflate.Write(buf); err == nil {
		err = e
	}
	if e := deflate.Close(); err == nil {
		err = e
	}
	if e := text.Close(); err == nil {
		err = e
	}
	return err
}

// parent returns the code of the row above n.
func (r *rows) parent(i int, n analyze.Node) uint64 {
	p := n.Parent()
	if p.IsZero() {
		return 0
	}
	at, ok := r.index[p.Index()]
	if !ok {
		return 0
	}
	if d := i - int(at); d >= 0 {
		return 1 + 2*uint64(d)
	}
	return 1 + 2*uint64(int(at)-i) - 1
}

// optional returns the code of a number that may be unknown. Negative ones, which
// the page has no use for, count as unknown.
func optional(v op.Int) uint64 {
	if !v.Known || v.V < 0 {
		return 0
	}
	return uint64(v.V) + 1
}

// positive is optional for a number of which 0 stands for unknown.
func positive(v int64) uint64 {
	if v <= 0 {
		return 0
	}
	return uint64(v) + 1
}
