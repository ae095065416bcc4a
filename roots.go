package optrace

import (
	"sync"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/op"
)

// root is the local root span above an operation.
type root struct {
	name string
	id   op.SpanID
}

// openRoots knows the local root spans under way: those without a parent in
// this process. Operations that end are stamped with theirs. It is safe for
// concurrent use.
//
// Nearly always one local root is open in a trace, and every operation of the
// trace lies below it. Where a service calls itself several are; from then on
// each span of the trace that starts is noted with its local root, until the
// last root ends.
type openRoots struct {
	shards [rootShards]rootShard
}

const (
	rootShards = 32
	// maxRootsPerShard bounds the memory that spans which never end can take.
	// Roots beyond it are not stamped.
	maxRootsPerShard = 1 << 12
)

// rootShard is locked for some ten nanoseconds at a time, for which a mutex that
// tells readers from writers would cost twice as much.
type rootShard struct {
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
	first root
	open  int
	// of leads to the local roots at or above the spans that were started since
	// a second root opened; nil while there has been one root only.
	of map[op.SpanID]root
}

func (t *openRoots) shard(id trace.TraceID) *rootShard { return &t.shards[id[15]%rootShards] }

// isLocalRoot reports whether a span has no parent in this process.
func isLocalRoot(s sdktrace.ReadOnlySpan) bool {
	return startsHere(s.Parent())
}

// startsHere reports whether a span with the given parent is a local root.
func startsHere(parent trace.SpanContext) bool { return !parent.IsValid() || parent.IsRemote() }

// started notes a span that starts.
func (t *openRoots) started(s sdktrace.ReadOnlySpan) {
	sc, parent := s.SpanContext(), s.Parent()
	sh := t.shard(sc.TraceID())
	isRoot := startsHere(parent)
	if !isRoot && sh.multi.Load() == 0 {
		return
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	tr := sh.traces.find(sc.TraceID())
	id := op.SpanID(sc.SpanID())
	switch {
	case isRoot && tr == nil:
		if len(sh.traces.list) < maxRootsPerShard {
			sh.traces.add(traceRoots{id: sc.TraceID(), first: root{s.Name(), id}, open: 1})
		}
	case isRoot:
		if tr.of == nil {
			tr.of = make(map[op.SpanID]root)
			sh.multi.Add(1)
		}
		if len(tr.of) < maxRootsPerShard {
			tr.of[id] = root{s.Name(), id}
			tr.open++
		}
	case tr != nil && tr.of != nil && len(tr.of) < maxRootsPerShard:
		tr.of[id] = tr.at(op.SpanID(parent.SpanID()))
	}
}

// ended returns the local root above a span that ends, and forgets the span.
// The root is zero where it is not known or the span itself.
func (t *openRoots) ended(span, parent trace.SpanContext) root {
	traceID, id := span.TraceID(), op.SpanID(span.SpanID())
	sh := t.shard(traceID)
	if startsHere(parent) {
		sh.remove(traceID, id)
		return root{}
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	tr := sh.traces.find(traceID)
	switch {
	case tr == nil:
		return root{}
	case tr.of == nil:
		return tr.first
	}
	r := tr.at(id)
	delete(tr.of, id)
	return r
}

// at returns the local root at or above a span that has not ended; zero where it
// is not known.
func (t *openRoots) at(traceID trace.TraceID, id op.SpanID) root {
	sh := t.shard(traceID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if tr := sh.traces.find(traceID); tr != nil {
		return tr.at(id)
	}
	return root{}
}

// at returns the local root at or above a span. One that is not known was
// started before the second root, hence below the first.
func (tr *traceRoots) at(id op.SpanID) root {
	if r, ok := tr.of[id]; ok {
		return r
	}
	return tr.first
}

// remove forgets a root, and the trace with its last one.
func (sh *rootShard) remove(traceID trace.TraceID, id op.SpanID) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	at := sh.traces.place(traceID)
	if at < 0 {
		return
	}
	// Roots that were not noted, for want of room or because they are older
	// than the processor, do not count.
	tr := &sh.traces.list[at]
	if tr.of == nil {
		if id == tr.first.id {
			sh.traces.remove(at)
		}
		return
	}
	if _, ok := tr.of[id]; ok || id == tr.first.id {
		delete(tr.of, id)
		tr.open--
	}
	if tr.open == 0 {
		sh.multi.Add(-1)
		sh.traces.remove(at)
	}
}
