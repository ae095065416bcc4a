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
// the parents of the trace's spans are remembered until one root is left.
type openRoots struct {
	shards [rootShards]rootShard
}

const (
	rootShards = 32
	// maxRootsPerShard bounds the memory that spans which never end can take.
	// Roots beyond it are not stamped.
	maxRootsPerShard = 1 << 14
)

type rootShard struct {
	mu     sync.RWMutex
	traces map[trace.TraceID]*traceRoots
	multi  atomic.Int64 // how many traces have several roots open
}

// traceRoots are the local roots open in one trace, oldest first.
type traceRoots struct {
	roots []root
	// parents leads from the spans started since a second root opened to their
	// parents; nil while there has been one root only.
	parents map[op.SpanID]op.SpanID
}

func (t *openRoots) shard(id trace.TraceID) *rootShard { return &t.shards[id[15]%rootShards] }

// isLocalRoot reports whether a span has no parent in this process.
func isLocalRoot(s sdktrace.ReadOnlySpan) bool {
	parent := s.Parent()
	return !parent.IsValid() || parent.IsRemote()
}

// started notes a span that starts.
func (t *openRoots) started(s sdktrace.ReadOnlySpan) {
	sc, parent := s.SpanContext(), s.Parent()
	sh := t.shard(sc.TraceID())
	isRoot := isLocalRoot(s)
	if !isRoot && sh.multi.Load() == 0 {
		return
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	tr := sh.traces[sc.TraceID()]
	id := op.SpanID(sc.SpanID())
	switch {
	case isRoot && tr == nil:
		if sh.traces == nil {
			sh.traces = make(map[trace.TraceID]*traceRoots)
		}
		if len(sh.traces) < maxRootsPerShard {
			sh.traces[sc.TraceID()] = &traceRoots{roots: []root{{s.Name(), id}}}
		}
	case isRoot:
		if len(tr.roots) < maxRootsPerShard {
			tr.roots = append(tr.roots, root{s.Name(), id})
		}
		if tr.parents == nil {
			tr.parents = make(map[op.SpanID]op.SpanID)
			sh.multi.Add(1)
		}
	case tr != nil && tr.parents != nil && len(tr.parents) < maxRootsPerShard:
		tr.parents[id] = op.SpanID(parent.SpanID())
	}
}

// ended returns the local root above a span that ends, and forgets the span.
// The root is zero where it is not known or the span itself.
func (t *openRoots) ended(s sdktrace.ReadOnlySpan) root {
	sc, parent := s.SpanContext(), s.Parent()
	sh := t.shard(sc.TraceID())
	if isLocalRoot(s) {
		sh.remove(sc.TraceID(), op.SpanID(sc.SpanID()))
		return root{}
	}
	sh.mu.RLock()
	tr := sh.traces[sc.TraceID()]
	if tr == nil || tr.parents == nil {
		var r root
		if tr != nil {
			r = tr.roots[0]
		}
		sh.mu.RUnlock()
		return r
	}
	sh.mu.RUnlock()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if tr = sh.traces[sc.TraceID()]; tr == nil {
		return root{}
	}
	r := tr.above(op.SpanID(parent.SpanID()))
	delete(tr.parents, op.SpanID(sc.SpanID()))
	return r
}

// at returns the local root at or above a span that has not ended; zero where it
// is not known.
func (t *openRoots) at(traceID trace.TraceID, id op.SpanID) root {
	sh := t.shard(traceID)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	if tr := sh.traces[traceID]; tr != nil {
		return tr.above(id)
	}
	return root{}
}

// above walks from a span up to a local root. A span that is not known was
// started before the second root, hence below the first.
func (tr *traceRoots) above(id op.SpanID) root {
	for range len(tr.parents) + 1 { // an id that comes again must not hang us
		for _, r := range tr.roots {
			if r.id == id {
				return r
			}
		}
		up, ok := tr.parents[id]
		if !ok {
			break
		}
		id = up
	}
	return tr.roots[0]
}

func (sh *rootShard) remove(trace trace.TraceID, id op.SpanID) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	tr := sh.traces[trace]
	if tr == nil {
		return
	}
	for i, r := range tr.roots {
		if r.id == id {
			tr.roots = append(tr.roots[:i], tr.roots[i+1:]...)
			break
		}
	}
	if len(tr.roots) == 0 {
		if tr.parents != nil {
			sh.multi.Add(-1)
		}
		delete(sh.traces, trace)
	}
}
