package trace

import (
	"slices"
	"unsafe"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

type spanName struct {
	Name, Service string
}

// Lane is a stream of a device.
type Lane struct {
	Device  device.Key // with its service if that may distinguish it
	Stream  op.Int
	Service string
	Host    string // without a rank
	Node    string // the host, of a rank too
}

// Mark is the step name and the phase of an operation, "" if unknown.
type Mark struct{ StepName, Phase string }

// Graph is a CUDA graph that launched an operation. ID is its number, Call the launching call of a graph without
// number, and Node the range that captured the operation's node; "" if unknown.
type Graph struct{ ID, Call, Node string }

// stamp is the local root named by an entry, whether or not its span was read. Number 0 is no stamp.
type stamp struct {
	Trace int32
	Span  uint64
	Name  string
}

// Names holds the values that rows reference by number.
type Names struct {
	Traces      symbols.Table[op.TraceID] // 0 is the unknown trace
	Operations  symbols.Names
	Spans       symbols.Table[spanName]
	Lanes       symbols.Table[Lane] // 0 is no lane, for spans
	Stamps      symbols.Table[stamp]
	Shapes      symbols.Table[string] // 0 is no shape
	Launchers   symbols.Table[string] // 0 is no operator
	Marks       symbols.Table[Mark]   // 0 is neither step nor phase
	Graphs      symbols.Table[Graph]  // 0 is none
	Errors      symbols.Table[string] // error texts; 0 is none
	Threads     symbols.Table[int64]  // ids of threads; 0 is unknown
	Paths       symbols.Table[string] // of layers, with one number; 0 is none
	Groups      symbols.Texts         // encoded keys of groups; 0 is no group
	Varieties   Varieties
	Arguments   symbols.Texts // JSON; 0 is none
	Collectives symbols.Table[CollectiveName]

	recentLanes  symbols.Cache[laneTag, int32]
	recentPaths  symbols.Cache[struct{}, int32]
	recentTraces [256]int32 // by a byte of the id
	recentThread struct {
		text   string
		number int32
	}
}

// laneTag identifies a lane together with the device name.
type laneTag struct {
	rank, stream  op.Int
	service, host string
}

const unknownThread = -1 // no id of a thread: ids are not negative

func newDictionary() Names {
	var d Names
	d.Traces.ID(op.TraceID{})
	d.Lanes.ID(Lane{})
	d.Stamps.ID(stamp{})
	d.Shapes.ID("")
	d.Launchers.ID("")
	d.Marks.ID(Mark{})
	d.Graphs.ID(Graph{})
	d.Errors.ID("")
	d.Threads.ID(unknownThread)
	d.Paths.ID("")
	d.Groups.ID(nil)
	d.Varieties.id(Variety{})
	d.Arguments.ID(nil)
	return d
}

func (d *Names) laneOf(e *op.Entry) int32 {
	if e.EmptyDevice { // the cache uses "" for no device
		return d.newLane(e)
	}
	tag := laneTag{e.Rank, e.Stream, e.Service, e.Host}
	slot := d.recentLanes.Slot(e.DeviceID, e.Rank.V<<8^e.Stream.V)
	if !slot.Holds(e.DeviceID, tag) {
		slot.Set(e.DeviceID, tag, d.newLane(e))
	}
	return slot.Value
}

func (d *Names) newLane(e *op.Entry) int32 {
	_, host := device.Source(e)
	return d.Lanes.ID(Lane{Device: device.Of(e), Stream: e.Stream, Service: e.Service, Host: host, Node: e.Host})
}

func (d *Names) traceOf(id op.TraceID) int32 {
	recent := &d.recentTraces[id[0]]
	if d.Traces.Values[*recent] != id {
		*recent = d.Traces.ID(id)
	}
	return *recent
}

// pathOf returns the number of the path of a layer, 0 for other paths.
func (d *Names) pathOf(path string) int32 {
	slot := d.recentPaths.Slot(path, 0)
	if !slot.Holds(path, struct{}{}) {
		slot.Set(path, struct{}{}, 0)
		if from, to := numberIn(path); from < to {
			slot.Value = d.Paths.ID(path)
		}
	}
	return slot.Value
}

func (d *Names) stampOf(trace int32, name string, span op.SpanID) int32 {
	if name == "" && span.IsZero() {
		return 0
	}
	return d.Stamps.ID(stamp{Trace: trace, Span: SpanNumber(span), Name: name})
}

// threadOf returns the number of the thread with the id in a, 0 for an invalid id.
func (d *Names) threadOf(a *op.Attr) int32 {
	if a.Value == d.recentThread.text && a.Type == op.AttrInt { // mostly that of the last row
		return d.recentThread.number
	}
	id, ok := count(a)
	if !ok {
		return 0
	}
	d.recentThread.text = a.Value
	d.recentThread.number = d.Threads.ID(id)
	return d.recentThread.number
}

// numbering maps the numbers of one table to another. It adds values there on first use.
type numbering func(old int32) int32

func newNumbering[K any](values []K, add func(K) int32) numbering {
	ids := make([]int32, len(values)) // 1 more than the number; 0 if unused
	return func(old int32) int32 {
		if ids[old] == 0 {
			ids[old] = add(values[old]) + 1
		}
		return ids[old] - 1
	}
}

// renumbering maps the numbers of one dictionary to another.
type renumbering struct {
	operations, spans, collectives numbering

	columns [numColumns]numbering // nil for columns without numbers, and for names
}

// numberingOf returns the mapping from other's numbers to d.
func (d *Names) numberingOf(other *Names) *renumbering {
	n := &renumbering{
		operations:  newNumbering(other.Operations.Values, d.Operations.ID),
		spans:       newNumbering(other.Spans.Values, d.Spans.ID),
		collectives: newNumbering(other.Collectives.Values, d.Collectives.ID),
	}
	traces := newNumbering(other.Traces.Values, d.Traces.ID)
	n.columns = [numColumns]numbering{
		colTrace: traces,
		colLane:  newNumbering(other.Lanes.Values, d.Lanes.ID),
		colStamp: newNumbering(other.Stamps.Values, func(s stamp) int32 {
			s.Trace = traces(s.Trace)
			return d.Stamps.ID(s)
		}),
		colGroup:     newNumbering(other.Groups.Values, d.Groups.Table.ID),
		colVariety:   newNumbering(other.Varieties.Values, d.Varieties.id),
		colShape:     newNumbering(other.Shapes.Values, d.Shapes.ID),
		colLauncher:  newNumbering(other.Launchers.Values, d.Launchers.ID),
		colMark:      newNumbering(other.Marks.Values, d.Marks.ID),
		colArguments: newNumbering(other.Arguments.Values, d.Arguments.Table.ID),
		colGraph:     newNumbering(other.Graphs.Values, d.Graphs.ID),
		colError:     newNumbering(other.Errors.Values, d.Errors.ID),
		colThread:    newNumbering(other.Threads.Values, d.Threads.ID),
		colPath:      newNumbering(other.Paths.Values, d.Paths.ID),
	}
	return n
}

// Variety holds the shapes and element types of an entry.
type Variety struct {
	InputShapes []op.Shape
	OutputShape op.Shape
	DType       op.DType
	InputDTypes []op.DType
}

// Varieties numbers distinct varieties. Number 0 is the empty variety.
type Varieties struct {
	// Values lists the varieties by number.
	Values []Variety

	texts   symbols.Texts
	scratch []byte
}

// id returns the number of v. It stores a copy of a new variety.
func (t *Varieties) id(v Variety) int32 {
	t.scratch = v.appendTo(t.scratch[:0])
	id := t.texts.ID(t.scratch)
	if int(id) == len(t.Values) {
		v.InputShapes = slices.Clone(v.InputShapes)
		for i, s := range v.InputShapes {
			v.InputShapes[i] = slices.Clone(s)
		}
		v.OutputShape = slices.Clone(v.OutputShape)
		v.InputDTypes = slices.Clone(v.InputDTypes)
		t.Values = append(t.Values, v)
	}
	return id
}

// appendTo appends v in an injective encoding. Empty differs from unknown.
func (v *Variety) appendTo(dst []byte) []byte {
	dst = v.OutputShape.AppendJSON(op.AppendShapesJSON(dst, v.InputShapes))
	for _, t := range v.InputDTypes {
		dst = key.AppendCounted(append(dst, ','), string(t))
	}
	mark := byte(':')
	if v.InputDTypes == nil {
		mark = ';'
	}
	return append(append(dst, mark), v.DType...)
}

func (d *Names) bytes() int64 {
	text := func(s string) int { return len(s) }
	return d.Traces.Bytes(nil) + d.Operations.Bytes(text) + d.Shapes.Bytes(text) + d.Launchers.Bytes(text) +
		d.Groups.Bytes(text) + d.Errors.Bytes(text) + d.Threads.Bytes(nil) + d.Paths.Bytes(text) +
		d.Arguments.Bytes(text) + d.Varieties.texts.Bytes(text) +
		int64(cap(d.Varieties.Values))*int64(unsafe.Sizeof(Variety{})) +
		d.Spans.Bytes(func(s spanName) int { return len(s.Name) + len(s.Service) }) +
		d.Lanes.Bytes(func(l Lane) int {
			return len(l.Device.DeviceID) + len(l.Device.Service) + len(l.Device.Host) + len(l.Service) + len(l.Host)
		}) +
		d.Stamps.Bytes(func(s stamp) int { return len(s.Name) }) +
		d.Marks.Bytes(func(m Mark) int { return len(m.StepName) + len(m.Phase) }) +
		d.Graphs.Bytes(func(g Graph) int { return len(g.ID) + len(g.Call) + len(g.Node) })
}
