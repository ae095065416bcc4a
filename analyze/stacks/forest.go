package stacks

import (
	"io"

	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/opfile"
)

// WriteForest writes the self times of the operations as collapsed stacks, the input of flame graph tools: a line per
// stack of [Of] with the frames joined by [Collapse], a space and the sum of the self times in nanoseconds. Lines are
// sorted by stack. Stacks without weight are left out.
//
//	POST /predict;inference;cuda:0;relu 40
//	POST /predict;inference;cuda:0;relu;matmul 60
func WriteForest(f *trace.Forest, w io.Writer) error {
	return addStacks(f, NewTable(Limits{}), func(int32, *Labels) {}).WriteCollapsed(w)
}

// Of sums up the operations by stack, with their requests and, if the forest keeps them, their shapes.
//
// The frames above a launched operation are the launching operator ([trace.Forest.Launcher]) and its ancestors, if
// known.
//
// A device is a frame before the first operation on it, with its rank if there are several ranks. Spans that are no
// operations, and operations seen from the host, are frames without values: waiting is no device work. Duplicates,
// which have no place in the tree, are stacks of their own.
func Of(f *trace.Forest) *Table { return Within(f, Limits{}) }

// Within returns the table of [Of] with other limits.
func Within(f *trace.Forest, limits Limits) *Table {
	f.Build()
	owner := f.RequestOwners()
	return addStacks(f, NewTable(limits), func(r int32, l *Labels) {
		l.Shape = f.Names.Shapes.Values[f.Shape(r)]
		l.Request = stackRequest(f, r, owner)
	})
}

// addStacks adds all rows to t by stack and labels. label sets labels other than device and kind.
func addStacks(f *trace.Forest, t *Table, label func(r int32, l *Labels)) *Table {
	f.Build()
	w := &stackWalk{forest: f, label: label, table: t, launches: launchesOf(f)}
	for _, device := range f.Devices.Keys {
		w.devices = append(w.devices, device.Label(f.Devices.Ranks))
	}
	w.walk(f.Tree.Roots)
	for r := range f.Rows() {
		switch {
		case !f.CountsInSums(r):
		case f.Has(r, trace.FlagHost):
			w.table.HostSide++
		case f.Has(r, trace.FlagDuplicate):
			w.table.Duplicates++
			w.addAlone(r)
		}
	}
	return w.table
}

type stackWalk struct {
	forest  *trace.Forest
	label   func(r int32, l *Labels)
	devices []string // labels
	table   *Table
	path    Path
	below   timeline.Descent
	pending []stackVisit

	launches *launches
}

// stackVisit is a row whose frames go below the frames of another row.
type stackVisit struct {
	row      int32
	depth    int   // of the stack above
	device   int32 // the last device on the stack, trace.NoRow for none
	launched bool  // set if the row above is the launcher, not the parent in the tree
}

// addAlone adds an operation without a place in the tree.
func (w *stackWalk) addAlone(r int32) {
	w.path.Cut(0)
	label := ""
	if d := w.forest.Device(r); !w.forest.Devices.Keys[d].IsNone() {
		label = w.devices[d]
		w.path.Push(label)
	}
	w.path.Push(w.forest.RowName(r))
	w.add(r, label)
}

func (w *stackWalk) walk(roots []int32) {
	f := w.forest
	w.push(roots, stackVisit{device: trace.NoRow})
	for len(w.pending) > 0 {
		v := w.pending[len(w.pending)-1]
		w.pending = w.pending[:len(w.pending)-1]
		w.path.Cut(v.depth)
		if !v.launched && w.launches.moves(v.row) {
			continue
		}
		if w.launches.isNamed(v.row) {
			w.path.Push(f.LauncherName(v.row))
		}
		label := ""
		if f.IsDeviceSide(v.row) && !f.Devices.Keys[f.Device(v.row)].IsNone() {
			device := f.Device(v.row)
			label = w.devices[device]
			if device != v.device {
				v.device = device
				w.path.Push(label)
			}
		}
		w.path.Push(f.RowName(v.row))
		if f.IsDeviceSide(v.row) {
			w.add(v.row, label)
		}
		v.depth = w.path.Depth()
		v.launched = false
		w.push(f.Tree.Children(v.row), v)
		v.launched = true
		w.push(w.launches.of(v.row), v)
	}
}

func (w *stackWalk) push(rows []int32, above stackVisit) {
	for _, r := range rows {
		v := above
		v.row = r
		w.pending = append(w.pending, v)
	}
}

func (w *stackWalk) add(r int32, device string) {
	f := w.forest
	lane := &f.Names.Lanes.Values[f.Lane(r)]
	labels := Labels{Device: device, Kind: f.Kind(r), Producer: Producer{
		Service: lane.Service, Rank: lane.Device.Rank, Host: lane.Device.Host,
	}}
	w.label(r, &labels)
	w.table.Add(&w.path, &labels, Values{
		Count: 1, TimeNS: ownTime(f, r, &w.below), SelfNS: timeline.SelfTime(f, r, &w.below),
		Bytes: f.Memory(r), FLOPs: f.Flops(r),
	})
	if f.Has(r, trace.FlagStart) {
		w.table.AddTime(f.Start(r), f.End(r))
	}
}

// ownTime returns the duration of r minus the durations of the nearest operations below it, at least 0.
func ownTime(f *trace.Forest, r int32, d *timeline.Descent) int64 {
	left := f.Duration(r)
	d.Pending = append(d.Pending[:0], f.Tree.Children(r)...)
	for len(d.Pending) > 0 && left > 0 {
		last := len(d.Pending) - 1
		child := d.Pending[last]
		d.Pending = d.Pending[:last]
		if f.IsDeviceSide(child) {
			left -= f.Duration(child)
		} else {
			d.Pending = append(d.Pending, f.Tree.Children(child)...)
		}
	}
	return max(0, left)
}

func stackRequest(f *trace.Forest, r int32, owner []int32) Request {
	root := owner[r]
	if e := f.ExecutionOf(r, owner); e != trace.NoExecution {
		root = f.Executions.List[e].Row
	}
	var name string
	var of int32
	var span uint64
	switch {
	case root == trace.NoRow:
		return Request{}
	case int(root) >= f.Len():
		s := f.Names.Stamps.Values[int(root)-f.Len()]
		name = s.Name
		of = s.Trace
		span = s.Span
	default:
		name = f.RowName(root)
		of = f.Trace(root)
		span = f.Span(root)
	}
	id := f.Names.Traces.Values[of]
	if opfile.IsLocal(id) || id.IsZero() { // ids of a local trace have no meaning outside
		return Request{Name: name}
	}
	return Request{Name: name, TraceID: id, SpanID: trace.SpanID(span)}
}
