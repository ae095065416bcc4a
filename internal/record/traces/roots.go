// Package traces tracks traces under way: their open local root spans, and the traces with operations. Both are kept
// in bounded memory, and an answer may be "unknown". The Processor reports starts and ends of spans. The encoders ask
// [WithOps] whether the ancestors of a span are worth writing.
package traces

import (
	"sync"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/recent"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
)

// Roots holds the open local root spans, the spans without a parent in this process. It finds the root above an ended
// operation. It is safe for concurrent use.
//
// Nearly always one local root is open in a trace, and every operation of the trace lies below it. A service that calls
// itself opens several; from then on each started span of the trace is noted with its local root, until the last root
// ends.
//
// Beyond the bounds, Roots forgets the traces that were not asked for lately, and spans of a trace with too many. The
// root of a span below them is then unknown.
type Roots struct {
	shards    [Shards]shard
	forgotten atomic.Uint64
	evicted   set // forgotten traces: later notes about them are incomplete
}

const (
	Shards = 32 // the number of shards of the traces
	// maxShardBytes bounds the memory of a shard: 24 MiB for all, 32 with the spans of WithOps. maxSpans bounds the
	// noted spans of a trace, and maxEnded the ended ones among them.
	maxShardBytes = 3 << 18
	maxSpans      = 1 << 12
	maxEnded      = 1 << 8
)

type shard struct {
	mu     sync.Mutex
	traces recent.Table[trace.TraceID, traceRoots]
	multi  atomic.Int64 // traces with several open roots
	_      [64]byte     // keeps shards on cache lines of their own
}

type traceRoots struct {
	first span.Root // the root above every span started before a second root, unless lossy
	lossy bool
	open  int
	// spans has the local roots at or above the spans started since a second root opened. It is nil before.
	spans *recent.Table[op.SpanID, span.Root]
	// ended has the roots of the latest ended spans: others may start below them.
	ended recent.Table[op.SpanID, span.Root]
}

func (t *Roots) shard(id trace.TraceID) *shard { return &t.shards[id[15]%Shards] }

// Forgotten returns the number of open spans forgotten.
func (t *Roots) Forgotten() uint64 { return t.forgotten.Load() }

// Started records the start of a span.
func (t *Roots) Started(s sdktrace.ReadOnlySpan) {
	sc := s.SpanContext()
	parent := s.Parent()
	sh := t.shard(sc.TraceID())
	isRoot := span.IsLocalRoot(parent)
	if !isRoot && sh.multi.Load() == 0 {
		return
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	tr := sh.traces.Find(sc.TraceID())
	id := op.SpanID(sc.SpanID())
	switch {
	case isRoot && tr == nil:
		t.open(sh, sc.TraceID(), span.Root{Name: span.CutText(s.Name()), ID: id})
	case isRoot:
		if tr.spans == nil {
			tr.spans = new(recent.Table[op.SpanID, span.Root])
			sh.multi.Add(1)
		}
		t.note(sh, sc.TraceID(), tr, id, span.Root{Name: span.CutText(s.Name()), ID: id})
	case tr != nil && tr.spans != nil:
		t.note(sh, sc.TraceID(), tr, id, tr.rootOf(op.SpanID(parent.SpanID())))
	}
}

// open adds a trace with its first root. An evicted trace may have spans below a forgotten root.
func (t *Roots) open(sh *shard, id trace.TraceID, r span.Root) {
	if t.evicted.Has(op.TraceID(id)) {
		tr := traceRoots{lossy: true, spans: new(recent.Table[op.SpanID, span.Root])}
		sh.traces.Add(id, tr, 0)
		sh.multi.Add(1)
		t.note(sh, id, sh.traces.Find(id), r.ID, r)
		return
	}
	sh.traces.Add(id, traceRoots{first: r, open: 1}, len(r.Name))
	t.makeRoom(sh, id)
}

// note notes a span of a trace with its root, zero if unknown.
func (t *Roots) note(sh *shard, trace trace.TraceID, tr *traceRoots, id op.SpanID, r span.Root) {
	if again := tr.spans.Find(id); again != nil { // ids should be random
		*again = r
		return
	}
	before := tr.spans.Bytes()
	if r.ID == id {
		tr.open++
	}
	tr.spans.Add(id, r, len(r.Name)) // the root may end before
	for tr.spans.Len() > maxSpans || tr.spans.Bytes() > maxShardBytes/2 {
		id, r, ok := tr.spans.Evict(id)
		if !ok {
			break
		}
		if r.ID == id {
			tr.open--
		}
		tr.lossy = true
		t.forgotten.Add(1)
	}
	sh.traces.Grow(trace, tr.spans.Bytes()-before)
	t.makeRoom(sh, trace)
}

// makeRoom forgets traces beyond the bounds, except one.
func (t *Roots) makeRoom(sh *shard, except trace.TraceID) {
	for sh.traces.Bytes() > maxShardBytes {
		id, tr, ok := sh.traces.Evict(except)
		if !ok {
			return
		}
		n := 1
		if tr.spans != nil {
			sh.multi.Add(-1)
			n = max(1, tr.spans.Len())
		}
		t.forgotten.Add(uint64(n))
		t.evicted.Add(op.TraceID(id))
	}
}

// Ended forgets an ended span. It returns the local root above it, zero if unknown or the span itself.
func (t *Roots) Ended(ended, parent trace.SpanContext) span.Root {
	traceID := ended.TraceID()
	id := op.SpanID(ended.SpanID())
	sh := t.shard(traceID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	tr := sh.traces.Find(traceID)
	switch {
	case tr == nil:
		return span.Root{}
	case span.IsLocalRoot(parent):
		sh.remove(traceID, tr, id)
		return span.Root{}
	case tr.spans == nil:
		return tr.first
	}
	r := tr.rootOf(id)
	sh.forget(traceID, tr, id)
	return r
}

// At returns the local root at or above an open span, zero if unknown.
func (t *Roots) At(traceID trace.TraceID, id op.SpanID) span.Root {
	sh := t.shard(traceID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if tr := sh.traces.Find(traceID); tr != nil {
		return tr.rootOf(id)
	}
	return span.Root{}
}

// rootOf returns the local root at or above a span. A span without a note was started below the first.
func (tr *traceRoots) rootOf(id op.SpanID) span.Root {
	if tr.spans != nil {
		if r := tr.spans.Find(id); r != nil {
			return *r
		}
		if r := tr.ended.Find(id); r != nil {
			if tr.spans.Find(r.ID) == nil { // ended, too
				return span.Root{}
			}
			return *r
		}
	}
	if tr.lossy && id != tr.first.ID {
		return span.Root{}
	}
	return tr.first
}

// forget moves a span of a trace to the ended ones, and reports whether it was noted.
func (sh *shard) forget(trace trace.TraceID, tr *traceRoots, id op.SpanID) bool {
	r := tr.spans.Find(id)
	if r == nil {
		return false
	}
	before := tr.spans.Bytes() + tr.ended.Bytes()
	if r.ID != tr.first.ID && tr.ended.Find(id) == nil {
		tr.ended.Add(id, *r, len(r.Name))
	}
	if tr.ended.Len() > maxEnded {
		tr.ended.Evict(id)
	}
	tr.spans.Remove(id)
	sh.traces.Grow(trace, tr.spans.Bytes()+tr.ended.Bytes()-before)
	return true
}

// remove forgets a root, and the trace with its last one.
func (sh *shard) remove(traceID trace.TraceID, tr *traceRoots, id op.SpanID) {
	// Roots without a note, for want of room or older than the processor, do not count.
	if tr.spans == nil {
		if id == tr.first.ID {
			sh.traces.Remove(traceID)
		}
		return
	}
	if sh.forget(traceID, tr, id) || id == tr.first.ID {
		tr.open--
	}
	if tr.open <= 0 {
		sh.multi.Add(-1)
		sh.traces.Remove(traceID)
	}
}
