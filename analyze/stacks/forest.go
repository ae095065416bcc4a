package stacks

import (
	"io"

	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/opfile"
)

// WriteForest writes the self times of the operations as collapsed stacks,
// the input of flame graph tools: a line per stack of [Of] with the frames that [Collapse] joins, a space and the sum of
// the self times in nanoseconds. Lines are sorted by stack; stacks without weight are left out.
//
//	POST /predict;inference;cuda:0;relu 40
//	POST /predict;inference;cuda:0;relu;matmul 60
func WriteForest(f *trace.Forest, w io.Writer) error {
	return addStacks(f, 0, f.Rows(), func(int32, *Labels) {}).WriteCollapsed(w)
}

// Of adds up the operations by stack, with the requests that they belong to and,
// where the forest keeps them, their shapes.
//
// Where it is known which operator on the host launched an operation ([trace.Forest.Launcher]), the
// frames above it are that operator and what is above that one.
//
// The device is a frame before the first operation on it, with its rank where
// there are several. Spans that are no operations and operations seen from the
// host are frames without values of their own: waiting is no work of a device.
// Duplicates have no place in the tree, and are stacks of their own.
func Of(f *trace.Forest) *Table { return OfRange(f, 0, f.Len()) }

// OfRange is [Of] of the operations among those that were added from the number
// first on, which Len returned before, up to the number end. All others are frames without
// values of their own; self times are without theirs.
func OfRange(f *trace.Forest, first, end int) *Table {
	f.Build()
	owner := f.RequestOwners()
	return addStacks(f, int32(max(0, first)), int32(min(end, f.Len())), func(r int32, l *Labels) {
		l.Shape, l.Request = f.Names.Shapes.Values[f.Shape(r)], stackRequest(f, r, owner)
	})
}

// addStacks adds up the operations in rows first to end by stack and the labels that label gives to the
// operation of a row beside its device and kind.
func addStacks(f *trace.Forest, first, end int32, label func(r int32, l *Labels)) *Table {
	f.Build()
	w := &stackWalk{forest: f, label: label, first: first, end: end, table: NewTable(Limits{}), launches: launchesOf(f)}
	for _, device := range f.Devices.Keys {
		w.devices = append(w.devices, device.Label(f.Devices.Ranks))
	}
	w.walk(f.Tree.Roots)
	for r := first; r < end; r++ {
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
	first   int32 // the first row that counts, and that behind the last one
	end     int32
	devices []string // their labels
	table   *Table
	path    Path
	below   timeline.Descent
	pending []stackVisit

	launches *launches
}

// stackVisit is a row whose frames are to be put below those of another one.
type stackVisit struct {
	row    int32
	depth  int   // of the stack above
	device int32 // the last one on that stack; trace.NoRow for none
	// launched is set where the one above is not that of the tree but what launched the row.
	launched bool
}

// addAlone adds up an operation that has no place in a tree.
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
		if f.IsDeviceSide(v.row) && w.first <= v.row && v.row < w.end {
			w.add(v.row, label)
		}
		v.depth = w.path.Depth()
		v.launched = false
		w.push(f.Tree.Children(v.row), v)
		v.launched = true
		w.push(w.launches.of(v.row), v)
	}
}

// push puts off rows that lie below another one.
func (w *stackWalk) push(rows []int32, above stackVisit) {
	for _, r := range rows {
		w.pending = append(w.pending, stackVisit{row: r, depth: above.depth, device: above.device, launched: above.launched})
	}
}

// add adds the operation in row r, which the path ends in.
func (w *stackWalk) add(r int32, device string) {
	f := w.forest
	lane := &f.Names.Lanes.Values[f.Lane(r)]
	labels := Labels{Device: device, Kind: f.Kind(r), Producer: Producer{
		Service: lane.Service, Rank: lane.Device.Rank, Host: lane.Device.Host,
	}}
	w.label(r, &labels)
	w.table.Add(&w.path, &labels, Values{
		Count: 1, TimeNS: ownTime(f, r, &w.below), SelfNS: timeline.SelfTime(f, r, &w.below), Bytes: f.Memory(r), FLOPs: f.Flops(r),
	})
	if f.Has(r, trace.FlagStart) {
		w.table.AddTime(f.Start(r), f.End(r))
	}
}

// ownTime returns the duration of r without the durations of the operations directly
// below it, 0 where these are longer together. What is only a frame is looked through.
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

// stackRequest returns the span that the operation in row r worked for.
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
		name, of, span = s.Name, s.Trace, s.Span
	default:
		name, of, span = f.RowName(root), f.Trace(root), f.Span(root)
	}
	id := f.Names.Traces.Values[of]
	if opfile.IsLocal(id) || id.IsZero() { // the ids of a local trace stand for nothing outside
		return Request{Name: name}
	}
	return Request{Name: name, TraceID: id, SpanID: trace.SpanID(span)}
}
