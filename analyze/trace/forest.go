package trace

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

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
// span, 8 more for each of the quantities that operations of its block have, and 28 once the
// tree is built. A link takes 32 bytes. Strings are kept once.
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
	Calls       []Call       // of the host, in no order
	links       []rowLink    // by row
	runs        []run
	Counts      Counts
	limit       int  // of the number of rows
	details     bool // keep shapes and arguments
	By          []key.Key
	ByTree      bool // the tree tells a key of by
	scratch     []byte
	works       work.Finder
	apart       device.Shared // as another forest told them; nil where f finds them
	// spanKeys are the attributes of spans that are kept, in spanAttrs.
	spanKeys  []string
	spanAttrs map[SpanRef][]op.Attr
	attrBytes int64 // about how much memory these take
	steps     stepRuns
	// MaxDevices bounds the devices that are told apart, unless it is 0. Further ones are one, named
	// [key.Other].
	MaxDevices int

	ended func() bool // as Until sets it

	building   sync.Mutex
	built      atomic.Bool
	Tree       Tree
	Devices    Devices
	Executions Executions
}

// Call is what the host did beside operations, see [op.Record]. Its start is in Unix nanoseconds.
type Call struct {
	Name            string
	Rank            op.Int
	Start, Duration int64
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

// NewLimited returns an empty Forest, which holds up to limit operations and spans.
func NewLimited(limit int) *Forest {
	return &Forest{Names: newDictionary(), limit: limit}
}

// KeepShapes makes f keep the shapes and the arguments of the operations that are added from now on, for
// [Node.Shapes] and [Node.Arguments].
func (f *Forest) KeepShapes() { f.details = true }

// Until makes Build and the analyses of f end early from when ended reports true, which it then does for good: what they
// return is to be thrown away, and so is f. Nil ends them no more. The function is safe for concurrent use, as analyses
// are, and takes a few nanoseconds.
func (f *Forest) Until(ended func() bool) { f.ended = ended }

// Ended reports whether analyses of f are to end. Those whose time grows with f look at it at least every thousand rows.
func (f *Forest) Ended() bool { return f.ended != nil && f.ended() }

// lookInterval is a mask of the numbers of rows between two looks at whether to end.
const lookInterval = 1<<10 - 1

// EndedAt is Ended at every thousandth row, and false at the others.
func (f *Forest) EndedAt(n int) bool { return n&lookInterval == 0 && f.Ended() }

// SpanRef names a span.
type SpanRef struct {
	Trace op.TraceID
	Span  op.SpanID
}

// KeepAttrs makes f keep attributes of the spans that are added from now on, for [Forest.SpanAttrs] and [Forest.Attr].
func (f *Forest) KeepAttrs(keys ...string) {
	f.spanKeys = keys
	f.spanAttrs = make(map[SpanRef][]op.Attr)
}

// SpanAttrs returns the attributes that were kept of a span, those of the first that has some where several have its id.
func (f *Forest) SpanAttrs(trace op.TraceID, span op.SpanID) []op.Attr {
	return f.spanAttrs[SpanRef{trace, span}]
}

// Attr returns the value of an attribute that was kept of a span, "" for none.
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

// takeKept adds the calls of o, and the attributes that o has kept and f has not.
func (f *Forest) takeKept(o *Forest) {
	f.Calls = append(f.Calls, o.Calls...)
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

// StartPart begins a part of the input; before the first call everything belongs to part 0.
// Merging puts the parts of several forests into the order of the input. Where
// the limit may be exceeded, every forest has to be given its parts in ascending
// order.
func (f *Forest) StartPart(part int64) {
	if n := len(f.runs); n == 0 || f.runs[n-1].part != part {
		f.runs = append(f.runs, run{part: part, row: f.Rows()})
	}
}

// IsTime reports whether a start and the end are within the bounds.
func IsTime(start, duration int64) bool {
	return -MaxTime <= start && start <= MaxTime && duration <= MaxTime-start
}
