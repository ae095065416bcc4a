package trace

import (
	"math"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/op"
)

// Forest is the structure of a run: which operation ran below which span, when,
// and on which device. Package analyze builds one for the structural figures of a report.
// Use it directly for requests, critical paths and stacks, or to walk the spans.
//
// It keeps columns, not entries, in blocks of a thousand rows: 47 bytes per operation or
// span, 8 more for each of the quantities that operations of its block have, and 24 once the
// tree is built. A link takes 24 bytes. Strings are kept once.
//
// Add everything in the order of the input, or build several forests and merge
// them in that order.
//
// A Forest is not safe for concurrent use, except that the methods other than
// Add and Merge may be called from several goroutines while neither of these is.
type Forest struct {
	columns
	Names       Names
	Collectives []Collective // by row
	links       []rowLink    // by row
	runs        partRuns
	Counts      Counts
	limit       int  // of the number of rows
	details     bool // keep shapes
	By          []key.Key
	ByRoot      bool // by has the local root
	scratch     []byte
	works       work.Finder
	apart       device.Shared // as another forest told them; nil where f finds them

	building   sync.Mutex
	built      atomic.Bool
	Tree       Tree
	Devices    Devices
	Executions Executions
}

// Counts counts the content of a [Forest] and its faults.
type Counts struct {
	// Ops and Spans are the operations and the other spans.
	Ops, Spans int64
	// Orphans are the operations with a parent that is none of the spans read.
	Orphans int64
	// Duplicates are the operations and spans with ids that were seen before. The
	// tree keeps the first of them.
	Duplicates int64
	// Repeated are the duplicates that equal one before in start and duration too:
	// the same data was read twice. They count in no figure, while sums and
	// timelines keep other duplicates.
	Repeated int64
	// Cycles are the cycles of parents. Each was broken at the span that starts
	// first.
	Cycles int64
	// BadTimes are the operations and spans with a start or an end outside the
	// years 1824 to 2116. They are treated as having no start.
	BadTimes int64
	// MissingLinks are the links to spans that were not read.
	MissingLinks int64
	// Clocked are the operations with a bound on the error of their device's clock, and
	// ClockError is the largest bound in nanoseconds.
	Clocked, ClockError int64
	// Overflow are the operations and spans beyond the limit, which count nowhere
	// else.
	Overflow int64
}

// New returns an empty Forest, which holds up to 2^30 operations and spans.
func New() *Forest { return NewLimited(MaxRows) }

func NewLimited(limit int) *Forest {
	return &Forest{Names: newDictionary(), limit: limit}
}

// KeepShapes makes f keep the shapes of the operations that are added from now on, for
// [Node.Shapes].
func (f *Forest) KeepShapes() { f.details = true }

// StartPart begins a part of the input; before the first call everything belongs to part 0.
// Merging puts the parts of several forests into the order of the input. Where
// the limit may be exceeded, every forest has to be given its parts in ascending
// order.
func (f *Forest) StartPart(part int64) {
	f.runs.start(run{part: part, row: f.Rows()})
}

// Add adds an operation or another span, and ignores every other record. It
// keeps nothing of the record but strings.
func (f *Forest) Add(rec op.Record) {
	switch {
	case rec.Entry != nil:
		f.AddOp(rec.Entry, f.works.Entry(rec.Entry))
	case rec.Span != nil:
		f.AddSpan(rec.Span)
	}
}

// AddOp adds an operation and its work.
func (f *Forest) AddOp(e *op.Entry, w work.Work) {
	r := row{
		duration: max(0, e.Duration), span: SpanNumber(e.SpanID), parent: SpanNumber(e.ParentSpanID), kind: e.Kind,
		trace: f.Names.Traces.ID(e.TraceID), name: f.Names.Operations.ID(e.Operation), lane: f.Names.laneOf(e),
	}
	v := &r.numbers
	v[colMemory], v[colElements] = e.MemoryBytes.V, e.OutputElements.V
	v[colFLOPs], v[colMoved] = keptWork(&w)
	v[colBound] = w.Bound
	v[colWeight] = int64(math.Float64bits(e.AdjustedCount))
	r.flags = FlagOp | sumFlags(e) | workFlags(&w)
	if e.Side == op.SideHost {
		r.flags |= FlagHost
	}
	if e.Step.Known {
		r.flags |= FlagStep
		v[colStep] = e.Step.V
	}
	if e.Launch.Known {
		r.flags |= FlagLaunch
		v[colLaunch] = e.Launch.V
	}
	r.codes[colStamp] = f.Names.stampOf(r.trace, e.Root, e.RootSpanID)
	for i := range e.Attrs {
		f.Counts.addClock(&e.Attrs[i])
	}
	if f.details {
		r.codes[colShape] = f.Names.Shapes.ID(shapeText(e))
	}
	if len(f.By) > 0 {
		f.addGroup(&r, e)
	}
	if f.add(&r, e.Start) {
		f.addCollective(e)
		f.addLinks(e.Links)
	}
}

// sumFlags returns the facts about e that only sums need.
func sumFlags(e *op.Entry) Flags {
	flags := Flags(e.KindRule) << RuleShift
	if e.MemoryBytes.Known {
		flags |= FlagMemory
	}
	if e.Failed {
		flags |= FlagFailed
	}
	if e.Warn&op.WarnNegativeDuration != 0 {
		flags |= FlagNegative
	}
	return flags
}

// AddSpan adds a span that is no operation.
func (f *Forest) AddSpan(s *op.Span) {
	if isEmpty(s) {
		return
	}
	r := row{
		duration: max(0, s.Duration), span: SpanNumber(s.SpanID), parent: SpanNumber(s.ParentSpanID),
		trace: f.Names.Traces.ID(s.TraceID), name: f.Names.Spans.ID(spanName{Name: s.Name, Service: s.Service}),
	}
	if s.RemoteParent {
		r.flags |= FlagRemote
	}
	if f.add(&r, s.Start) {
		f.addLinks(s.Links)
	}
}

// isEmpty reports whether a span has nothing that figures could be made of.
func isEmpty(s *op.Span) bool {
	return s.SpanID.IsZero() && s.ParentSpanID.IsZero() && !s.Start.Known && s.Duration <= 0 && s.Name == "" && len(s.Links) == 0
}

// add adds r, which starts at start, unless there is no more room.
func (f *Forest) add(r *row, start op.Int) bool {
	switch {
	case !start.Known:
	case !IsTime(start.V, r.duration):
		f.Counts.BadTimes++
	default:
		r.flags |= FlagStart
		r.start = start.V
	}
	return f.append(r)
}

// IsTime reports whether a start and the end are within the bounds.
func IsTime(start, duration int64) bool {
	return -MaxTime <= start && start <= MaxTime && duration <= MaxTime-start
}

func (f *Forest) append(r *row) bool {
	if f.Len() >= f.limit {
		f.Counts.Overflow++
		return false
	}
	if r.flags&FlagOp != 0 {
		f.Counts.Ops++
	} else {
		f.Counts.Spans++
	}
	f.columns.append(r)
	if f.built.Load() {
		f.built.Store(false)
	}
	return true
}

// Build joins the spans to a tree and orders what ran on each device, unless
// nothing was added since. Every analysis calls it.
func (f *Forest) Build() {
	if f.built.Load() {
		return
	}
	f.building.Lock()
	defer f.building.Unlock()
	if f.built.Load() {
		return
	}
	f.buildTree()
	f.buildExecutions()
	f.built.Store(true)
}

// Structure returns the counts.
func (f *Forest) Structure() Counts {
	f.Build()
	return f.Counts
}

// addClock counts the bound on the error of a device's clock, if a is one.
func (c *Counts) addClock(a *op.Attr) {
	if a.Key != op.KeyClockError || a.Type != op.AttrInt {
		return
	}
	if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil && n >= 0 {
		c.Clocked++
		c.ClockError = max(c.ClockError, n)
	}
}
