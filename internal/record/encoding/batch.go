package encoding

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op"
)

// Batch holds encoded records until they are written, all at once. It is used by one goroutine at a time.
type Batch struct {
	Records []byte // whole ones, after the headroom
	Entries int    // among the records
	// First and Last identify the resources of the first and the last record;
	// FirstResource is the content of a header in front of the batch.
	First, Last   attribute.Distinct
	FirstResource *op.Resource
	Groups        Groups // for formats that write records grouped
	Shortened     int    // records that would have been larger than MaxRecordBytes
	Written       int    // entries, set once that is known

	refs []traces.Ref // from the records to other spans, which are on record or to be released
	last traces.Ref   // was in refs last
}

// MaxRecordBytes is the size of a record, encoded, from which on a span is
// shortened: readers refuse records of twice that.
const MaxRecordBytes = 8 << 20

// MaxBatchBytes is the size at which a batch takes no more records: readers refuse
// messages of four times that.
const MaxBatchBytes = 16 << 20

// Full reports whether b takes no more records.
func (b *Batch) Full() bool { return len(b.Records) >= MaxBatchBytes }

// headroom is how many bytes are kept free for what precedes the records, which then need not be copied.
const headroom = 512

// NewBatch returns an empty batch with a buffer of size bytes, headroom included.
func NewBatch(size int) *Batch { return &Batch{Records: make([]byte, headroom, max(size, headroom))} }

// Empty reports whether b has no records.
func (b *Batch) Empty() bool { return len(b.Records) == headroom }

// Body returns the records.
func (b *Batch) Body() []byte { return b.Records[headroom:] }

// Memory returns how many bytes b takes.
func (b *Batch) Memory() int { return cap(b.Records) }

// Between returns the records between a head and a tail, in the batch's memory or, where that has no room for the head, in the
// head's, which is returned too.
func (b *Batch) Between(head, tail []byte) (framed, scratch []byte) {
	if len(head) > headroom {
		framed = append(append(head, b.Body()...), tail...)
		return framed, framed
	}
	b.Records = slices.Grow(b.Records, len(tail))
	framed = b.Records[headroom-len(head):]
	copy(framed, head)
	return append(framed, tail...), head
}

// Reset makes b an empty batch that keeps its buffer.
func (b *Batch) Reset() {
	clear(b.Groups) // what it refers to is the encoder's
	*b = Batch{Records: b.Records[:headroom], Groups: b.Groups[:0], refs: b.refs}
}

// refer notes that a record refers to another span. Most have the parent of the one before.
func (b *Batch) refer(r traces.Ref) {
	if r != b.last {
		b.last = r
		b.refs = append(b.refs, r)
	}
}

// Late returns a span that records of b refer to, and that ended before there was an operation for which to write
// it; false if there is none.
func (b *Batch) Late(t *traces.WithOps) (e span.Ended, ok bool) {
	for n := len(b.refs); n > 0; n = len(b.refs) {
		s, parent := t.Release(b.refs[n-1])
		b.refs = b.refs[:n-1]
		if s != nil {
			return span.Ended{Span: s, Context: s.SpanContext(), Parent: s.Parent()}, true
		}
		if parent != 0 {
			b.refs = append(b.refs, parent)
		}
	}
	return e, false
}
