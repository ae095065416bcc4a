package traces

import (
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/op"
)

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
