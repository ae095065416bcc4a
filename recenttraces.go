package optrace

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/optrace/optrace/op"
)

// recentTraces remembers which traces hold operations, in bounded memory: the
// spans above operations end after them and are written only for such traces.
// It is safe for concurrent use and takes no lock. A trace is forgotten when
// enough newer ones share its place; one that goes on recording operations
// puts itself back.
type recentTraces struct {
	slots [recentSlots]atomic.Uint64
}

// The number of traces remembered, and how many places a trace may be in.
const (
	recentSlots = 1 << 14
	recentWays  = 4
)

// fingerprint returns the random half of a trace id, never 0.
func fingerprint(id op.TraceID) uint64 { return binary.BigEndian.Uint64(id[8:]) | 1 }

func (t *recentTraces) has(id op.TraceID) bool {
	f := fingerprint(id)
	base := f >> 8 & (recentSlots - recentWays)
	for i := base; i < base+recentWays; i++ {
		if t.slots[i].Load() == f {
			return true
		}
	}
	return false
}

func (t *recentTraces) add(id op.TraceID) {
	f := fingerprint(id)
	base := f >> 8 & (recentSlots - recentWays)
	if t.slots[base].Load() == f {
		return
	}
	// Move the newest to the front and the others back by one; the last falls
	// out. Concurrent additions may lose one of them, which is as if it had
	// been forgotten.
	carry := t.slots[base].Swap(f)
	for i := base + 1; i < base+recentWays && carry != 0 && carry != f; i++ {
		carry = t.slots[i].Swap(carry)
	}
}

// traceNotes are recentTraces as the encoder of a span sees them.
type traceNotes struct {
	recent *recentTraces
	// silent keeps operations from being noted that are all that there is of their
	// trace: nobody asks for it, and a trace that is new costs 40 ns.
	silent bool
}

func (n traceNotes) has(id op.TraceID) bool { return n.recent.has(id) }

func (n traceNotes) add(id op.TraceID) {
	if !n.silent {
		n.recent.add(id)
	}
}
