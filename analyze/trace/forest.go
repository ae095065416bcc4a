package trace

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/op"
)

// Forest is the structure of a run: the tree of operations and spans, their times and their devices. Package analyze
// builds one for the structural figures of a report. Use it directly for requests, critical paths and stacks, or
// to walk the spans.
//
// It stores columns in blocks of a thousand rows. A value takes the bytes that the range of its column in the block
// needs: an operation takes about 40 bytes, and 28 more once the tree is built. A link takes 32 bytes. Equal strings
// are stored once.
//
// Add all records in input order, or fill several forests and merge them in that order. Build makes rows readable by
// number; nodes and analyses call it.
//
// Add and Merge must not run concurrently with other methods. The other methods may be called concurrently.
type Forest struct {
	columns
	Names       Names
	Collectives []Collective // by row
	Calls       []Call       // of the host, unsorted
	Waits       []Wait       // of operations of devices, as recorded
	links       []rowLink    // by row
	runs        []run
	Counts      Counts
	limit       int  // of rows
	details     bool // keep shapes and arguments
	By          []key.Key
	ByTree      bool // a key in By needs the tree
	scratch     []byte
	works       work.Finder
	apart       device.Shared // the shared devices of another forest; nil if f finds its own
	spanKeys    []string      // lists the span attributes kept in spanAttrs
	spanAttrs   map[SpanRef][]op.Attr
	attrBytes   int64 // approximate memory of spanAttrs
	steps       stepRuns
	marks       marks.Names // of the names of spans
	// MaxDevices bounds the number of devices, 0 for no bound. Further devices share the name [key.Other].
	MaxDevices int

	ended func() bool // set by Until

	building   sync.Mutex
	built      atomic.Bool
	Tree       Tree
	Devices    Devices
	Executions Executions
	joined     map[int32]bool // local roots below other spans, true for a part of the request above
	found      sync.Map       // functions for the results of Found, by type
	families   []int32        // by path, the first one equal up to its number
}

// Call is a call of the host beside operations, see [op.Record]. Times are in Unix nanoseconds.
type Call struct {
	Name            string
	Rank            op.Int
	Start, Duration int64
	Thread          op.Int // the id of the thread
	// A call such as cudaStreamSynchronize waits for Device and Stream. In cudaStreamWaitEvent, Stream
	// waits for an event of OnStream. The device is "" if unknown.
	Device           string
	Stream, OnStream op.Int
	Recorded         op.Int // when the host recorded the event that is waited for
	// Inside is set for a wait within an operation of the host, or without a duration. Figures of the host leave it out.
	Inside bool
}

// Wait records that an operation of a device waited for another one. Op and For are the numbers of their spans.
type Wait struct {
	Trace   op.TraceID
	Op, For uint64
}

// Counts counts the records of a [Forest] and their faults.
type Counts struct {
	// Ops counts operations, Spans other spans.
	Ops, Spans int64
	// Orphans counts operations whose parent was not read.
	Orphans int64
	// Duplicates counts operations and spans with the ids of an earlier row. The tree keeps the first row.
	Duplicates int64
	// Repeated counts duplicates that also equal an earlier row in start and duration: the same data was read twice.
	// Figures ignore them. Other duplicates count in sums and timelines.
	Repeated int64
	// Cycles counts cycles of parents. Each was broken at its earliest span.
	Cycles int64
	// BadTimes counts operations and spans with a start or end outside 1824 to 2116. They are treated as having
	// no start.
	BadTimes int64
	// MissingLinks counts links to spans that were not read.
	MissingLinks int64
	// Clocked counts operations with a bound on the clock error of their device. ClockError is the largest bound in
	// nanoseconds.
	Clocked, ClockError int64
	// Overflow counts operations and spans beyond the limit. They count nowhere else.
	Overflow int64
}

// New returns an empty Forest for up to MaxRows operations and spans.
func New() *Forest { return NewLimited(MaxRows) }

// NewLimited returns an empty Forest for up to limit operations and spans.
func NewLimited(limit int) *Forest {
	return &Forest{Names: newDictionary(), limit: limit}
}

// KeepShapes makes f keep the shapes and arguments of operations added later, for [Node.Shapes] and [Node.Arguments].
func (f *Forest) KeepShapes() { f.details = true }

// Until makes Build and analyses of f return early once ended reports true. From then on ended must always report true,
// and f and the results are unusable. A nil function never ends them. ended must be fast and safe for concurrent use.
func (f *Forest) Until(ended func() bool) { f.ended = ended }

// Ended reports whether analyses of f should end. Long analyses check it at least every thousand rows.
func (f *Forest) Ended() bool { return f.ended != nil && f.ended() }

// lookInterval masks the row numbers between two checks of Ended.
const lookInterval = 1<<10 - 1

// EndedAt checks Ended at every thousandth n and returns false otherwise.
func (f *Forest) EndedAt(n int) bool { return n&lookInterval == 0 && f.Ended() }

// SpanRef identifies a span.
type SpanRef struct {
	Trace op.TraceID
	Span  op.SpanID
}

// KeepAttrs makes f keep attributes of spans added later, for [Forest.SpanAttrs] and [Forest.Attr].
func (f *Forest) KeepAttrs(keys ...string) {
	f.spanKeys = keys
	f.spanAttrs = make(map[SpanRef][]op.Attr)
}

// SpanAttrs returns the kept attributes of a span. Of several spans with the same ids, the first with attributes
// counts.
func (f *Forest) SpanAttrs(trace op.TraceID, span op.SpanID) []op.Attr {
	return f.spanAttrs[SpanRef{trace, span}]
}

// Attr returns the value of a kept attribute of a span or "".
func (f *Forest) Attr(trace op.TraceID, span op.SpanID, key string) string {
	for _, a := range f.SpanAttrs(trace, span) {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

func (f *Forest) keepAttrs(s *op.Span) {
	var kept []op.Attr
	for i := range s.Attrs {
		if a := &s.Attrs[i]; slices.Contains(f.spanKeys, a.Key) {
			kept = append(kept, *a)
			f.attrBytes += int64(len(a.Value))
		}
	}
	of := SpanRef{s.TraceID, s.SpanID}
	if _, again := f.spanAttrs[of]; len(kept) > 0 && !again {
		f.spanAttrs[of] = kept
		f.attrBytes += 2*int64(unsafe.Sizeof(of)) + int64(cap(kept))*int64(unsafe.Sizeof(kept[0]))
	}
}

// takeKept adds the calls of o, and its attributes of spans without attributes in f.
func (f *Forest) takeKept(o *Forest) {
	f.Calls = append(f.Calls, o.Calls...)
	f.Waits = append(f.Waits, o.Waits...)
	f.attrBytes += o.attrBytes
	if f.spanAttrs == nil {
		f.spanKeys = o.spanKeys
		f.spanAttrs = o.spanAttrs
		return
	}
	for k, v := range o.spanAttrs {
		if _, known := f.spanAttrs[k]; !known {
			f.spanAttrs[k] = v
		}
	}
}

// StartPart begins a part of the input; before the first call all rows belong to part 0. Merge sorts the parts of all
// forests. With a limit, each forest must get its parts in ascending order.
func (f *Forest) StartPart(part int64) {
	if n := len(f.runs); n == 0 || f.runs[n-1].part != part {
		f.runs = append(f.runs, run{part: part, row: f.Rows()})
	}
}

// IsTime reports whether a start and its end are within MaxTime.
func IsTime(start, duration int64) bool {
	return -MaxTime <= start && start <= MaxTime && duration <= MaxTime-start
}

// Service returns the service of the operation in row r.
func (f *Forest) Service(r int32) string { return f.Names.Lanes.Values[f.Lane(r)].Service }

// IsLocal reports whether row r belongs to a local trace.
func (f *Forest) IsLocal(r int32) bool { return opfile.IsLocal(f.Names.Traces.Values[f.Trace(r)]) }

// RowName returns the name of the operation or span in row r.
func (f *Forest) RowName(r int32) string {
	if f.Has(r, FlagOp) {
		return f.Names.Operations.Values[f.Name(r)]
	}
	return f.Names.Spans.Values[f.Name(r)].Name
}

// ErrorText returns the error text of row r, "" if unknown.
func (f *Forest) ErrorText(r int32) string { return f.Names.Errors.Values[f.code(r, colError)] }

// Device returns the number of the device of row r.
func (f *Forest) Device(r int32) int32 { return f.Devices.Lanes[f.Lane(r)] }

// DeviceKey returns the device of row r.
func (f *Forest) DeviceKey(r int32) device.Key { return f.Devices.Keys[f.Device(r)] }

// DeviceStreamOf returns the number of the stream of row r.
func (f *Forest) DeviceStreamOf(r int32) int32 { return f.Devices.Streams[f.Lane(r)] }

// Work returns the work of the operation in row r.
func (f *Forest) Work(r int32) work.Work {
	w := work.Work{Flops: f.Flops(r), Bound: f.number(r, colBound)}
	if f.Has(r, flagFLOPs) {
		w.Facts |= work.Known
	}
	if f.Has(r, flagDerived) {
		w.Facts |= work.Derived
	}
	if n := f.number(r, colMoved); n < 0 {
		w.Bytes = ^n
		w.Facts |= work.Moved
	}
	return w
}

// Likeness identifies operations with the same work. Operations with equal shapes have equal likenesses. If the FLOPs
// are unknown, results of equal size may be of different work: then places in a layer tell them apart.
type Likeness struct {
	Name                   int32 // into Names.Operations
	Place                  int32 // see [Forest.PlaceInLayer], 0 if the FLOPs are known
	FLOPs, Elements, Bytes int64 // Bytes are moved; Elements are below 0 for shapes with an unknown output
}

// Likeness returns the likeness of row r.
func (f *Forest) Likeness(r int32) Likeness {
	of := Likeness{f.Name(r), 0, f.Flops(r), f.number(r, colElements), f.Work(r).Bytes}
	if of.FLOPs <= 0 {
		of.Place = f.PlaceInLayer(r)
	}
	return of
}

// PlaceInLayer returns a number of the path of row r without the number of its layer, 0 if the path is unknown.
func (f *Forest) PlaceInLayer(r int32) int32 { return f.families[f.Path(r)] }

// buildPlaces finds the places of paths.
func (f *Forest) buildPlaces() {
	f.families = make([]int32, len(f.Names.Paths.Values))
	first := make(map[string]int32)
	for i, path := range f.Names.Paths.Values {
		family, _, _ := LayerOf(path)
		if _, known := first[family]; !known {
			first[family] = int32(i)
		}
		f.families[i] = first[family]
	}
}

const builtBytes = 28 // the approximate memory of a row's tree and sort orders, beside its columns

const stepBytes = 400 // the approximate memory of package steps for a run of operations of one lane and step

// stepRuns counts runs of consecutive operations of a lane with the same step.
type stepRuns struct {
	last []op.Int // by lane
	n    int64
}

func (s *stepRuns) add(lane int32, step int64) {
	for len(s.last) <= int(lane) {
		s.last = append(s.last, op.Int{})
	}
	if next := op.Known(step); s.last[lane] != next {
		s.last[lane] = next
		s.n++
	}
}

// Bytes returns the approximate memory of f, including its tree.
func (f *Forest) Bytes() int64 {
	return f.columns.bytes + f.open.size() + int64(f.Rows())*builtBytes + int64(cap(f.links))*int64(unsafe.Sizeof(rowLink{})) +
		int64(cap(f.Collectives))*int64(unsafe.Sizeof(Collective{})) +
		int64(cap(f.Calls))*int64(unsafe.Sizeof(Call{})) + int64(cap(f.Waits))*int64(unsafe.Sizeof(Wait{})) +
		f.Names.bytes() + f.attrBytes + f.steps.n*stepBytes
}
