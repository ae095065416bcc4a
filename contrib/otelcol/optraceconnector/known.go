package optraceconnector

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdataop"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// known is what operations with the same attributes, of a source, have in common.
type known struct {
	series        *series
	device        *device // nil for none
	memory, flops op.Int
}

// operations remembers what is known of operations by their attributes, while that pays:
// the same ones come again and again.
type operations struct {
	prints  *pdataop.Fingerprints
	byPrint map[pdataop.Fingerprint]known

	lookups, hits int // of the current review
	pause         int // how many spans are not looked up
}

const (
	maxKnown = 1 << 16
	// A review of the lookups, and how long there are none where few found something.
	reviewAfter = 1 << 17
	pauseFor    = 1 << 20
)

func newOperations(m *attr.Mapping) *operations {
	return &operations{prints: pdataop.NewFingerprints(m), byPrint: make(map[pdataop.Fingerprint]known)}
}

// find returns what is known of the operation of a span, or else its fingerprint and
// whether it is worth adding.
func (o *operations) find(s ptrace.Span, from *source) (k known, found bool, print pdataop.Fingerprint, add bool) {
	o.review()
	if o.pause > 0 {
		o.pause--
		return k, false, print, false
	}
	o.lookups++
	if print, add = o.prints.Of(s, from.number); add {
		if k, found = o.byPrint[print]; found {
			o.hits++
		}
	}
	return k, found, print, add
}

// review stops the lookups for a while where few of them found something.
func (o *operations) review() {
	if o.lookups < reviewAfter {
		return
	}
	if o.hits < reviewAfter/2 {
		o.pause = pauseFor
		o.forget()
	}
	o.lookups, o.hits = 0, 0
}

func (o *operations) add(print pdataop.Fingerprint, k known) {
	if len(o.byPrint) >= maxKnown {
		o.forget()
	}
	o.byPrint[print] = k
}

func (o *operations) forget() { clear(o.byPrint) }
