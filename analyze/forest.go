package analyze

import (
	"github.com/optrace/optrace/op"
)

// TraceOptions configures a [Forest]. The zero value is ready to use.
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
// that order, or in chunks of which [Forest.StartChunk] tells the order: the
// result is the same for any number of shards. Then call any of the analyses;
// they build the tree when that has not been done.
//
// A Trace is not safe for concurrent use, except that after Build the
// analyses may be called from several goroutines.
type Forest struct {
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

// Structure counts what a [Forest] was built from and what was wrong with it.
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
func NewForest(o TraceOptions) *Forest {
	limit := maxRows
	if 0 < o.MaxRows && o.MaxRows < maxRows {
		limit = o.MaxRows
	}
	return &Forest{dict: newDictionary(), limit: limit}
}

// StartChunk tells that what is added from now on is of the chunk-th part of the
// input. Where several workers share an input, each has a Trace of its own and
// calls it before every part that it takes; parts are numbered in input order,
// across files, and no part is added to two traces. Merging then puts the rows
// into the order of the input, whichever worker read them. Where MaxRows may be
// exceeded, every worker has to take its parts in ascending order.
func (f *Forest) StartChunk(chunk int64) {
	f.runs.start(run{chunk: chunk, row: f.n, collective: int32(len(f.collected.entries))})
}

// Add adds an operation. It keeps nothing of e but its strings.
func (f *Forest) Add(e *op.Entry) {
	r := row{
		duration: max(0, e.Duration),
		span:     spanNumber(e.SpanID),
		parentID: spanNumber(e.ParentSpanID),
		trace:    f.dict.traces.ID(e.TraceID),
		name:     f.dict.operations.ID(e.Operation),
		lane:     f.dict.laneOf(e),
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
		r.stamp = f.dict.stamps.ID(stamp{trace: r.trace, span: spanNumber(e.RootSpanID), name: e.Root})
	}
	if f.add(&r, e.Start) {
		f.collected.add(e)
	}
}

// AddSpan adds a span that is no operation.
func (f *Forest) AddSpan(s *op.Span) {
	r := row{
		duration: max(0, s.Duration),
		span:     spanNumber(s.SpanID),
		parentID: spanNumber(s.ParentSpanID),
		trace:    f.dict.traces.ID(s.TraceID),
		name:     f.dict.spans.ID(spanName{name: s.Name, service: s.Service}),
	}
	if s.RemoteParent {
		r.flags |= flagRemote
	}
	f.add(&r, s.Start)
}

// add adds r, which starts at start, unless there is no more room.
func (f *Forest) add(r *row, start op.Int) bool {
	switch {
	case !start.Known:
	case start.V < -maxTime || start.V > maxTime || r.duration > maxTime-start.V:
		f.structure.BadTimes++
	default:
		r.flags |= flagStart
		r.start = start.V
	}
	return f.append(r)
}

func (f *Forest) append(r *row) bool {
	if f.rows() >= f.limit {
		f.structure.Overflow++
		return false
	}
	if r.flags&flagOp != 0 {
		f.structure.Ops++
	} else {
		f.structure.Spans++
	}
	f.columns.append(r)
	f.built = false
	return true
}

// Build joins the spans to a tree and orders what ran on each device. The
// analyses call it; call it yourself before using them from several
// goroutines. It does nothing when nothing was added since.
func (f *Forest) Build() {
	if f.built {
		return
	}
	f.buildTree()
	f.buildDevices()
	f.built = true
}

// Structure returns the counts of what was read.
func (f *Forest) Structure() Structure {
	f.Build()
	return f.structure
}
