// Package traces tracks traces under way: their open local root spans, and the traces with operations. Both are kept
// in bounded memory, and an answer may be "unknown". The Processor reports starts and ends of spans. The encoders ask
// [WithOps] whether the ancestors of a span are worth writing.
package traces

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

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
	// Shards is the number of shards of the traces.
	Shards = 32
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

// WithOps is the set of traces with operations, or with links from recorded spans. Other spans are written only if their
// trace is in it. A trace is forgotten when enough newer ones share its slots. WithOps also holds the latest ended spans
// of other traces, in 8 MiB, for operations below them recorded later; see Hold.
//
// It is safe for concurrent use and allocates only on the first Add and Hold. Has and Add take no lock.
type WithOps struct {
	set
	ended atomic.Pointer[[endedShards]endedShard]
	lost  atomic.Uint64 // parents
}

// set is a set of traces that forgets old ones.
type set struct {
	table atomic.Pointer[[slots]atomic.Uint64]
}

// The number of traces remembered, and of slots for a trace.
const (
	slots = 1 << 16
	ways  = 8
)

// fingerprint returns the random half of a trace id, never 0.
func fingerprint(id op.TraceID) uint64 { return binary.BigEndian.Uint64(id[8:]) | 1 }

// Has reports whether the trace has been added.
func (t *set) Has(id op.TraceID) bool {
	table := t.table.Load()
	if table == nil {
		return false
	}
	f := fingerprint(id)
	base := f >> 8 & (slots - ways)
	for i := base; i < base+ways; i++ {
		if table[i].Load() == f {
			return true
		}
	}
	return false
}

// Add adds a trace.
func (t *set) Add(id op.TraceID) {
	table := t.table.Load()
	if table == nil {
		t.table.CompareAndSwap(nil, new([slots]atomic.Uint64))
		table = t.table.Load()
	}
	f := fingerprint(id)
	base := f >> 8 & (slots - ways)
	if table[base].Load() == f {
		return
	}
	// The newest moves to the front, and the last falls out. Concurrent calls may lose one.
	carry := table[base].Swap(f)
	for i := base + 1; i < base+ways && carry != 0 && carry != f; i++ {
		carry = table[i].Swap(carry)
	}
}

// Ref identifies a span of a trace; 0 is no span.
type Ref uint64

// RefTo returns the Ref to a span.
func RefTo(trace op.TraceID, id op.SpanID) Ref {
	if id.IsZero() {
		return 0
	}
	return Ref(binary.BigEndian.Uint64(id[:]) ^ bits.RotateLeft64(fingerprint(trace), 32))
}

const (
	endedShards   = 8
	minEndedSlots = 1 << 6
	maxEndedSlots = 1 << 12 // the number of spans of a shard
	// maxEndedBytes bounds the spans of a shard. With its slots a shard takes a mebibyte.
	maxEndedBytes = 1<<20 - maxEndedSlots*int(unsafe.Sizeof(endedSpan{})+unsafe.Sizeof(uint64(0)))
	// Before the first operation of any trace, shards have this fraction of their room.
	endedShare = 8
)

// endedShard holds the latest ended spans in a ring. A span that made room for others keeps its slot until the ring
// comes round: an operation below it then counts a lost parent.
type endedShard struct {
	mu    sync.Mutex
	slots []endedSpan // span number n is in slot n modulo their number
	heads []uint64    // by hash, the number of the newest span
	first uint64      // the oldest span that has not made room
	next  uint64      // the number of the next span; numbers begin at 1
	bytes int         // of the spans
	_     [64]byte    // keeps shards on cache lines of their own
}

type endedSpan struct {
	span         sdktrace.ReadOnlySpan // nil after it made room
	self, parent Ref                   // self is 0 after its release
	older        uint64                // the number of the next older span of the same hash
	bytes        int32
}

// LostParents returns the number of parents lost: spans that had made room when Release asked for them.
func (t *WithOps) LostParents() uint64 { return t.lost.Load() }

// LoseParent counts a released span that could not be written.
func (t *WithOps) LoseParent() { t.lost.Add(1) }

// Hold keeps an ended span until it is released or makes room. It reports false if the trace has operations.
func (t *WithOps) Hold(s sdktrace.ReadOnlySpan, trace op.TraceID, self, parent Ref, bytes int) bool {
	if t.ended.Load() == nil {
		t.ended.CompareAndSwap(nil, new([endedShards]endedShard))
	}
	sh := &t.ended.Load()[self%endedShards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if t.Has(trace) { // under the lock: a later Add of the trace finds the span
		return false
	}
	share := 1
	if t.table.Load() == nil {
		share = endedShare
	}
	sh.add(endedSpan{span: s, self: self, parent: parent, bytes: int32(min(bytes, maxEndedBytes+1))}, share)
	return true
}

// Release returns the held span of r and removes it. If the span made room for others, Release counts it as a lost
// parent, once, and returns its parent. The trace must have been added before.
func (t *WithOps) Release(r Ref) (s sdktrace.ReadOnlySpan, parent Ref) {
	ended := t.ended.Load()
	if ended == nil || r == 0 {
		return nil, 0
	}
	sh := &ended[r%endedShards]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	found := false
	for n := sh.newest(r); sh.knows(n); n = sh.slot(n).older {
		e := sh.slot(n)
		if e.self != r {
			continue
		}
		found = true
		if e.span != nil { // held twice by two processors
			s = e.span
		}
		parent = e.parent
		sh.bytes -= int(e.bytes)
		*e = endedSpan{older: e.older}
	}
	if found && s == nil {
		t.lost.Add(1)
	}
	return s, parent
}

func (sh *endedShard) slot(n uint64) *endedSpan { return &sh.slots[n%uint64(len(sh.slots))] }
func (sh *endedShard) knows(n uint64) bool      { return n > 0 && sh.next-n <= uint64(len(sh.slots)) }

func (sh *endedShard) head(r Ref) *uint64 {
	const mix = 0x9e3779b97f4a7c15 // ids may not be random
	return &sh.heads[uint64(r)*mix>>32%uint64(len(sh.heads))]
}

func (sh *endedShard) newest(r Ref) uint64 {
	if len(sh.heads) == 0 {
		return 0
	}
	return *sh.head(r)
}

// add adds a span. Older ones make room. The shard may use one part in share of its memory.
func (sh *endedShard) add(e endedSpan, share int) {
	if n := len(sh.slots); n == 0 || n < maxEndedSlots/share && sh.next > uint64(n) {
		sh.grow(max(minEndedSlots, 2*n))
	}
	most := maxEndedBytes / share
	if int(e.bytes) > most {
		e.span = nil
		e.bytes = 0
	}
	sh.bytes += int(e.bytes)
	for sh.bytes > most || sh.next-sh.first == uint64(len(sh.slots)) {
		oldest := sh.slot(sh.first)
		sh.bytes -= int(oldest.bytes)
		oldest.span = nil
		oldest.bytes = 0
		sh.first++
	}
	sh.put(e)
}

func (sh *endedShard) put(e endedSpan) {
	head := sh.head(e.self)
	e.older = *head
	*head = sh.next
	*sh.slot(sh.next) = e
	sh.next++
}

func (sh *endedShard) grow(size int) {
	before := sh.slots
	next := max(1, sh.next)
	sh.slots = make([]endedSpan, size)
	sh.heads = make([]uint64, size)
	sh.first = max(1, sh.first)
	sh.next = max(1, next-min(next, uint64(len(before))))
	for sh.next < next {
		sh.put(before[sh.next%uint64(len(before))])
	}
}
