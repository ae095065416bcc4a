package analyze

import (
	"io"
	"runtime"

	"github.com/optrace/optrace/analyze/internal/parallel"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
)

// WriteCollapsed writes the self times of the operations as collapsed stacks,
// the input of flame graph tools: a line per distinct stack with the frames
// from the root down, joined by semicolons, a space and the sum of the self
// times in nanoseconds. Lines are sorted by stack and end in a line break.
//
//	POST /predict;inference;cuda:0;relu 40
//	POST /predict;inference;cuda:0;relu;matmul 60
//
// The stacks are those of [Forest.Stacks]. Stacks without weight are left out.
//
// In frames a semicolon becomes a colon and control characters become spaces;
// frames that are equal then are one.
func (f *Forest) WriteCollapsed(w io.Writer) error {
	return f.addStacks(0, f.rowCount(), func(int32, *stacks.Labels) {}).WriteCollapsed(w)
}

// Stacks adds up the operations by stack, with the requests that they belong to and,
// where the forest keeps them, their shapes.
//
// The device is a frame before the first operation on it, with its rank where
// there are several. Spans that are no operations and operations seen from the
// host are frames without values of their own: waiting is no work of a device.
// Duplicates have no place in the tree, and are left out.
func (f *Forest) Stacks() *stacks.Table { return f.StacksOf(0, f.Len()) }

// StacksOf is [Forest.Stacks] of the operations among those that were added from the number
// first on, which Len returned before, up to the number end. All others are frames without
// values of their own; self times are without theirs.
func (f *Forest) StacksOf(first, end int) *stacks.Table {
	f.build()
	owner := f.requestOwners()
	return f.addStacks(int32(max(0, first)), int32(min(end, f.Len())), func(r int32, l *stacks.Labels) {
		l.Shape, l.Request = f.dict.shapes.Values[f.shape(r)], f.stackRequest(r, owner)
	})
}

// addStacks adds up the operations in rows first to end by stack and the labels that label gives to the
// operation of a row beside its device and kind. It calls label from several goroutines.
func (f *Forest) addStacks(first, end int32, label func(r int32, l *stacks.Labels)) *stacks.Table {
	f.build()
	walks := make([]*stackWalk, min(len(f.tree.roots), runtime.GOMAXPROCS(0)))
	functions := make([]func(), len(walks))
	for i := range walks {
		walks[i] = newStackWalk(f, label)
		walks[i].first, walks[i].end = first, end
		from, to := i*len(f.tree.roots)/len(walks), (i+1)*len(f.tree.roots)/len(walks)
		functions[i] = func() { walks[i].walk(f.tree.roots[from:to]) }
	}
	parallel.Do(functions...)
	all := stacks.NewTable(stacks.Limits{})
	for i, w := range walks {
		if i == 0 {
			all = w.table
			continue
		}
		all.Merge(w.table)
	}
	for r := first; r < end; r++ {
		switch {
		case !f.countsInSums(r):
		case f.has(r, flagHost):
			all.HostSide++
		case f.has(r, flagDuplicate):
			all.Duplicates++
		}
	}
	return all
}

// stackWalk walks down trees and adds up their operations.
type stackWalk struct {
	forest  *Forest
	label   func(r int32, l *stacks.Labels)
	first   int32 // the first row that counts, and that behind the last one
	end     int32
	devices []string // their labels
	table   *stacks.Table
	path    stacks.Path
	below   descent
	pending []stackVisit
}

// stackVisit is a row whose frames are to be put below those of another one.
type stackVisit struct {
	row    int32
	depth  int   // of the stack above
	device int32 // the last one on that stack; noRow for none
}

func newStackWalk(f *Forest, label func(int32, *stacks.Labels)) *stackWalk {
	w := &stackWalk{forest: f, label: label, table: stacks.NewTable(stacks.Limits{})}
	for _, device := range f.onDevice.keys {
		w.devices = append(w.devices, device.Label(f.onDevice.ranks))
	}
	return w
}

// walk adds up the operations at and below the rows.
func (w *stackWalk) walk(roots []int32) {
	f := w.forest
	w.push(roots, stackVisit{device: noRow})
	for len(w.pending) > 0 {
		v := w.pending[len(w.pending)-1]
		w.pending = w.pending[:len(w.pending)-1]
		w.path.Cut(v.depth)
		label := ""
		if f.isDeviceSide(v.row) && !f.onDevice.keys[f.device(v.row)].IsNone() {
			device := f.device(v.row)
			label = w.devices[device]
			if device != v.device {
				v.device = device
				w.path.Push(label)
			}
		}
		w.path.Push(f.rowName(v.row))
		if f.isDeviceSide(v.row) && w.first <= v.row && v.row < w.end {
			w.add(v.row, label)
		}
		v.depth = w.path.Depth()
		w.push(f.tree.children(v.row), v)
	}
}

// push puts off rows that lie below another one.
func (w *stackWalk) push(rows []int32, above stackVisit) {
	for _, r := range rows {
		w.pending = append(w.pending, stackVisit{row: r, depth: above.depth, device: above.device})
	}
}

// add adds the operation in row r, which the path ends in.
func (w *stackWalk) add(r int32, device string) {
	f := w.forest
	lane := &f.dict.lanes.Values[f.lane(r)]
	labels := stacks.Labels{Device: device, Kind: f.kind(r), Producer: stacks.Producer{
		Service: lane.service, Rank: lane.device.Rank, Host: lane.device.Host,
	}}
	w.label(r, &labels)
	w.table.Add(&w.path, &labels, stacks.Values{
		Count: 1, TimeNS: f.ownTime(r, &w.below), SelfNS: f.selfTime(r, &w.below), Bytes: f.memory(r), FLOPs: f.flops(r),
	})
	if f.has(r, flagStart) {
		w.table.AddTime(f.start(r), f.end(r))
	}
}

// ownTime returns the duration of r without the durations of the operations directly
// below it, 0 where these are longer together. What is only a frame is looked through.
func (f *Forest) ownTime(r int32, d *descent) int64 {
	left := f.duration(r)
	d.pending = append(d.pending[:0], f.tree.children(r)...)
	for len(d.pending) > 0 && left > 0 {
		last := len(d.pending) - 1
		child := d.pending[last]
		d.pending = d.pending[:last]
		if f.isDeviceSide(child) {
			left -= f.duration(child)
		} else {
			d.pending = append(d.pending, f.tree.children(child)...)
		}
	}
	return max(0, left)
}

// stackRequest returns the span that the operation in row r worked for.
func (f *Forest) stackRequest(r int32, owner []int32) stacks.Request {
	root := owner[r]
	if e := f.executionOf(r, owner); e != noExecution {
		root = f.shared.list[e].row
	}
	switch {
	case root == noRow:
		return stacks.Request{}
	case int(root) >= f.Len():
		s := f.dict.stamps.Values[int(root)-f.Len()]
		return requestOf(s.name, f.dict.traces.Values[s.trace], s.span)
	}
	return requestOf(f.rowName(root), f.dict.traces.Values[f.trace(root)], f.span(root))
}

// requestOf returns a request. The ids of a local trace stand for nothing outside.
func requestOf(name string, trace op.TraceID, span uint64) stacks.Request {
	if trace.IsLocal() || trace.IsZero() {
		return stacks.Request{Name: name}
	}
	return stacks.Request{Name: name, TraceID: trace, SpanID: spanID(span)}
}
