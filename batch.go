package optrace

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/op"
)

// batch holds encoded records until they are written, all of them at once. An
// encoder fills it, and the same format's frame puts it into its final form. It
// is used by one goroutine at a time.
type batch struct {
	// records holds, behind the headroom, whole records in the encoding of the
	// format.
	records []byte
	// entries and ancestors are how many records of each kind there are.
	entries, ancestors int
	// first and last identify the resources of the first and the last record;
	// firstResource is what a header in front of the batch says.
	first, last   attribute.Distinct
	firstResource *op.Resource
	// otlp says where the records belong; only OTLP formats use it.
	otlp otlpRuns
	// written is how many entries the writer took, set once that is known.
	written int
}

// headroom is how many bytes are kept free in front of the records for what comes
// before them when they are written. Records that need not be copied for that
// cost a tenth less.
const headroom = 512

// newBatch returns an empty batch with a buffer of size bytes, headroom included.
func newBatch(size int) *batch { return &batch{records: make([]byte, headroom, max(size, headroom))} }

func (b *batch) empty() bool { return len(b.records) == headroom }

// body returns the records.
func (b *batch) body() []byte { return b.records[headroom:] }

// between returns the records between a head and a tail: in the batch's own memory
// if there is room for the head, or else in the head's, which is returned too.
func (b *batch) between(head, tail []byte) (framed, scratch []byte) {
	if len(head) > headroom {
		framed = append(append(head, b.body()...), tail...)
		return framed, framed
	}
	b.records = slices.Grow(b.records, len(tail))
	framed = b.records[headroom-len(head):]
	copy(framed, head)
	return append(framed, tail...), head
}

// reset makes b an empty batch that keeps its buffer.
func (b *batch) reset() { *b = batch{records: b.records[:headroom], otlp: b.otlp.reset()} }

// outcome is what became of a span.
type outcome uint8

const (
	asNothing outcome = iota // neither an operation nor above one
	asEntry
	asAncestor
)

// addSafe adds what has finished, of which anything may be expected: a span
// that panics leaves nothing behind and is reported.
func addSafe(enc encoder, b *batch, f *finished, recent *recentTraces) (out outcome, err error) {
	before := len(b.records)
	defer func() {
		if p := recover(); p != nil {
			b.records = b.records[:before]
			out, err = asNothing, panicked(p)
		}
	}()
	traces := traceNotes{recent: recent, silent: f.alone}
	return enc.add(b, *f, traces), nil
}

// panicked is the error of a span whose conversion panicked.
func panicked(with any) error {
	return fmt.Errorf("traces export: converting a span panicked: %v", with)
}

// isOperationSafe is enc.isOperation; a span that panics counts as one, as it
// does in addSafe.
func isOperationSafe(enc encoder, s sdktrace.ReadOnlySpan) (is bool) {
	defer func() {
		if recover() != nil {
			is = true
		}
	}()
	return enc.isOperation(s)
}
