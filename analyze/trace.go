package analyze

import (
	"github.com/optrace/optrace/op"
)

// TraceOptions configures a [Trace]. The zero value is ready to use.
type TraceOptions struct {
	// MaxRows is how many operations and spans to keep, which bounds the memory;
	// 0 and numbers above 2^30 mean 2^30. Those beyond are counted.
	MaxRows int
}

// Trace is the structure of a run: which operation ran below which span, when,
// and on which device. It answers what sums cannot: self time, device
// timelines, idle gaps, critical paths, stacks and requests.
//
// It keeps columns, not entries: 46 bytes per entry or span, 16 more once it is
// built, 8 each where entries have a step, a memory size or a launch time, 4
// where they name their local root, and 64 for each collective; strings are
// kept once. Ten million entries with step and memory size, a fifth of them
// collectives, take 91 bytes each, as TestTraceMemoryPerEntry measures.
//
// Add everything in the order of the input, or in shards that are merged in
// that order, or in chunks of which [Trace.StartChunk] tells the order: the
// result is the same for any number of shards. Then call any of the analyses;
// they build the tree when that has not been done.
//
// A Trace is not safe for concurrent use, except that after Build the
// analyses may be called from several goroutines.
type Trace struct {
	columns
	dict      dictionary
	collected collectives
	runs      chunkRuns
	structure Structure
	limit     int // of the number of rows
	built     bool
	tree      tree
	onDevice  deviceRows
}

// Structure counts what a [Trace] was built from and what was wrong with it.
type Structure struct {
	// Ops and Spans are the operations and the non-op spans.
	Ops, Spans int64
	// Orphans are the operations whose parent is none of the spans read.
	Orphans int64
	// Duplicates are the operations and spans whose trace and span ids were
	// seen before. The tree keeps the first; sums and timelines keep all.
	Duplicates int64
	// Repeated are those duplicates that agree with the first in start and
	// duration too: the same data was read twice.
	Repeated int64
	// Cycles are the rings of parents that were broken, each at the span that
	// starts first.
	Cycles int64
	// BadTimes are the operations and spans whose start or end lies outside the
	// years 1824 to 2116; they are taken to have no start.
	BadTimes int64
	// Overflow are the operations and spans beyond TraceOptions.MaxRows, which
	// are left out of everything else.
	Overflow int64
}

// NewTrace returns an empty Trace.
func NewTrace(o TraceOptions) *Trace {
	limit := maxRows
	if 0 < o.MaxRows && o.MaxRows < maxRows {
		limit = o.MaxRows
	}
	return &Trace{dict: newDictionary(), limit: limit}
}

// StartChunk tells that what is added from now on is of the chunk-th part of the
// input. Where several workers share an input, each has a Trace of its own and
// calls it before every part that it takes; parts are numbered in input order,
// across files, and no part is added to two traces. Merging then puts the rows
// into the order of the input, whichever worker read them. Where MaxRows may be
// exceeded, every worker has to take its parts in ascending order.
func (t *Trace) StartChunk(chunk int64) {
	t.runs.start(run{chunk: chunk, row: t.n, collective: int32(len(t.collected.entries))})
}

// Add adds an operation. It keeps nothing of e but its strings.
func (t *Trace) Add(e *op.Entry) {
	r := row{
		duration: max(0, e.Duration),
		span:     spanNumber(e.SpanID),
		parentID: spanNumber(e.ParentSpanID),
		trace:    t.dict.traces.id(e.TraceID),
		name:     t.dict.operations.id(e.Operation),
		lane:     t.dict.laneOf(e),
		kind:     e.Kind,
		flags:    flagOp,
		memory:   e.MemoryBytes.V,
	}
	if e.Side == op.SideHost {
		r.flags |= flagHost
	}
	if e.Step.Known {
		r.flags |= flagStep
		r.step = e.Step.V
	}
	if e.Launch.Known {
		r.flags |= flagLaunch
		r.launch = e.Launch.V
	}
	if e.Root != "" || !e.RootSpanID.IsZero() {
		r.stamp = t.dict.stamps.id(stamp{trace: r.trace, span: spanNumber(e.RootSpanID), name: e.Root})
	}
	if t.add(&r, e.Start) {
		t.collected.add(e)
	}
}

// AddSpan adds a span that is no operation.
func (t *Trace) AddSpan(s *op.Span) {
	r := row{
		duration: max(0, s.Duration),
		span:     spanNumber(s.SpanID),
		parentID: spanNumber(s.ParentSpanID),
		trace:    t.dict.traces.id(s.TraceID),
		name:     t.dict.spans.id(spanName{name: s.Name, service: s.Service}),
	}
	if s.RemoteParent {
		r.flags |= flagRemote
	}
	t.add(&r, s.Start)
}

// add adds r, which starts at start, unless there is no more room.
func (t *Trace) add(r *row, start op.Int) bool {
	switch {
	case !start.Known:
	case start.V < -maxTime || start.V > maxTime || r.duration > maxTime-start.V:
		t.structure.BadTimes++
	default:
		r.flags |= flagStart
		r.start = start.V
	}
	return t.append(r)
}

func (t *Trace) append(r *row) bool {
	if t.rows() >= t.limit {
		t.structure.Overflow++
		return false
	}
	if r.flags&flagOp != 0 {
		t.structure.Ops++
	} else {
		t.structure.Spans++
	}
	t.columns.append(r)
	t.built = false
	return true
}

// Build joins the spans to a tree and orders what ran on each device. The
// analyses call it; call it yourself before using them from several
// goroutines. It does nothing when nothing was added since.
func (t *Trace) Build() {
	if t.built {
		return
	}
	t.buildTree()
	t.buildDevices()
	t.built = true
}

// Structure returns the counts of what was read.
func (t *Trace) Structure() Structure {
	t.Build()
	return t.structure
}
