// Package traces knows about traces under way: which local root spans are open
// in them, and which traces hold operations.
//
// Both answers are kept in bounded memory and may be "not known" for traces
// beyond it. The Processor reports spans that start and end; the encoders ask
// [WithOps] whether the ancestors of a span are worth writing.
package traces

import (
	"sync"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/op"
)

// Roots holds the open local root spans: those without a parent in this process.
// It finds the one above an operation that ends. It is safe for concurrent use.
//
// Nearly always one local root is open in a trace, and every operation of the
// trace lies below it. Where a service calls itself several are; from then on
// each span of the trace that starts is noted with its local root, until the
// last root ends.
type Roots struct {
	shards [Shards]shard
}

const (
	// Shards is how many shards the traces are spread over.
	Shards = 32
	// MaxPerShard bounds the memory that spans which never end can take.
	// Roots beyond it are not stamped.
	MaxPerShard = 1 << 12
)

// shard has a plain mutex: it is held so briefly that one which lets readers in
// together would cost more.
type shard struct {
	mu     sync.Mutex
	traces openTraces
	multi  atomic.Int64 // how many traces have several roots open
	_      [64]byte     // keeps shards on cache lines of their own
}

// traceRoots are the local roots open in one trace.
type traceRoots struct {
	id trace.TraceID
	// first is the root that opened first, and the one above every span that
	// was started before a second one.
	first span.Root
	open  int
	// bySpan leads to the local roots at or above the spans that were started since
	// a second root opened; nil while there has been one root only.
	bySpan map[op.SpanID]span.Root
}

func (t *Roots) shard(id trace.TraceID) *shard { return &t.shards[id[15]%Shards] }

// Started records a span that starts.
func (t *Roots) Started(s sdktrace.ReadOnlySpan) {
	sc, parent := s.SpanContext(), s.Parent()
	sh := t.shard(sc.TraceID())
	isRoot := span.IsLocalRoot(parent)
	if !isRoot && sh.multi.Load() == 0 {
		return
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	tr := sh.traces.find(sc.TraceID())
	id := op.SpanID(sc.SpanID())
	switch {
	case isRoot && tr == nil:
		if len(sh.traces.list) < MaxPerShard {
			sh.traces.add(traceRoots{id: sc.TraceID(), first: span.Root{Name: s.Name(), ID: id}, open: 1})
		}
	case isRoot:
		if tr.bySpan == nil {
			tr.bySpan = make(map[op.SpanID]span.Root)
			sh.multi.Add(1)
		}
		if len(tr.bySpan) < MaxPerShard {
			tr.bySpan[id] = span.Root{Name: s.Name(), ID: id}
			tr.open++
		}
	case tr != nil && tr.bySpan != nil && len(tr.bySpan) < MaxPerShard:
		tr.bySpan[id] = tr.rootOf(op.SpanID(parent.SpanID()))
	}
}

// Ended returns the local root above a span that ends, and forgets the span.
// The root is zero where it is not known or the span itself.
func (t *Roots) Ended(ended, parent trace.SpanContext) span.Root {
	traceID, id := ended.TraceID(), op.SpanID(ended.SpanID())
	sh := t.shard(traceID)
	if span.IsLocalRoot(parent) {
		sh.remove(traceID, id)
		return span.Root{}
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	tr := sh.traces.find(traceID)
	switch {
	case tr == nil:
		return span.Root{}
	case tr.bySpan == nil:
		return tr.first
	}
	r := tr.rootOf(id)
	delete(tr.bySpan, id)
	return r
}

// At returns the local root at or above a span that has not ended; zero if it is
// not known.
func (t *Roots) At(traceID trace.TraceID, id op.SpanID) span.Root {
	sh := t.shard(traceID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if tr := sh.traces.find(traceID); tr != nil {
		return tr.rootOf(id)
	}
	return span.Root{}
}

// rootOf returns the local root at or above a span. One that is not known was
// started before the second root, hence below the first.
func (tr *traceRoots) rootOf(id op.SpanID) span.Root {
	if r, ok := tr.bySpan[id]; ok {
		return r
	}
	return tr.first
}

// remove forgets a root, and the trace with its last one.
func (sh *shard) remove(traceID trace.TraceID, id op.SpanID) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	i := sh.traces.indexOf(traceID)
	if i < 0 {
		return
	}
	// Roots that were not noted, for want of room or because they are older
	// than the processor, do not count.
	tr := &sh.traces.list[i]
	if tr.bySpan == nil {
		if id == tr.first.ID {
			sh.traces.remove(i)
		}
		return
	}
	if _, ok := tr.bySpan[id]; ok || id == tr.first.ID {
		delete(tr.bySpan, id)
		tr.open--
	}
	if tr.open == 0 {
		sh.multi.Add(-1)
		sh.traces.remove(i)
	}
}
