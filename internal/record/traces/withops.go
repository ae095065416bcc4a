package traces

import (
	"encoding/binary"
	"sync/atomic"

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
