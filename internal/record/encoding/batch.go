// Package encoding is the contract between encoders and the sink: a [Format] makes an [Encoder], which appends spans
// to a [Batch], and frames the batch for writing.
package encoding

import (
	"bytes"
	"io"
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Batch holds encoded records until they are written, all at once. It is not safe for concurrent use.
type Batch struct {
	Records []byte // whole records, after the headroom
	Entries int    // among the records
	// The resources of the first and the last record, and the content of a header in front of the batch.
	First, Last   attribute.Distinct
	FirstResource *op.Resource
	Groups        Groups // for formats that group records
	Shortened     int    // records shortened to fit MaxRecordBytes
	Written       int    // entries, set at the end of the write

	refs []traces.Ref // from the records to other spans, written or to be released
	last traces.Ref   // the last one added to refs
}

// MaxRecordBytes is the largest size of an encoded record. Readers refuse records of twice the size.
const MaxRecordBytes = 8 << 20

// MaxBatchBytes is the size of a full batch. Readers refuse messages of four times the size.
const MaxBatchBytes = 16 << 20

// Full reports whether b takes no more records.
func (b *Batch) Full() bool { return len(b.Records) >= MaxBatchBytes }

// headroom is the number of bytes free in front of the records, for a head without a copy of the records.
const headroom = 512

// NewBatch returns an empty batch with a buffer of size bytes, headroom included.
func NewBatch(size int) *Batch { return &Batch{Records: make([]byte, headroom, max(size, headroom))} }

// Empty reports whether b has no records.
func (b *Batch) Empty() bool { return len(b.Records) == headroom }

// Body returns the records.
func (b *Batch) Body() []byte { return b.Records[headroom:] }

// Memory returns the size of b's buffer in bytes.
func (b *Batch) Memory() int { return cap(b.Records) }

// Between returns the records between a head and a tail. The result is in the batch's memory or, if the head exceeds
// the headroom, in the head's. scratch is the head's memory.
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

// Reset empties b and keeps its buffer.
func (b *Batch) Reset() {
	clear(b.Groups) // the encoder owns the scopes
	*b = Batch{Records: b.Records[:headroom], Groups: b.Groups[:0], refs: b.refs}
}

// refer notes a reference from a record to another span. Most records have the parent of the one before.
func (b *Batch) refer(r traces.Ref) {
	if r != b.last {
		b.last = r
		b.refs = append(b.refs, r)
	}
}

// Late returns an earlier ended span that records of b refer to and that has not been written; false without one.
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

// Resource is the envelope of the scopes of one resource.
type Resource struct{ Prefix, Suffix []byte }

// Scope is the envelope of the records of one instrumentation scope of one resource.
type Scope struct {
	Resource       *Resource
	Prefix, Suffix []byte
}

// Groups maps the bytes of a batch's records to their scopes, for formats that group spans.
type Groups []run

type run struct {
	scope      *Scope
	start, end int
}

// ResourceGroup has the scopes of a resource.
type ResourceGroup struct {
	Resource *Resource
	Scopes   []ScopeGroup
}

// ScopeGroup has the records of a scope.
type ScopeGroup struct {
	Scope *Scope
	Bytes int // of all records
	runs  []run
}

// Add records records[start:end] as a span of scope.
func (g *Groups) Add(scope *Scope, start, end int) {
	if n := len(*g); n > 0 && (*g)[n-1].scope == scope && (*g)[n-1].end == start {
		(*g)[n-1].end = end
	} else {
		*g = append(*g, run{scope, start, end})
	}
}

// Resources returns the groups in the order of their first records.
func (g Groups) Resources() (all []ResourceGroup) {
	resources := make(map[*Resource]int) // places in all
	scopes := make(map[*Scope]int)       // places in their resource
	for k, r := range g {
		i, ok := resources[r.scope.Resource]
		if !ok {
			i = len(all)
			resources[r.scope.Resource] = i
			all = append(all, ResourceGroup{Resource: r.scope.Resource})
		}
		of := &all[i]
		j, ok := scopes[r.scope]
		if !ok {
			j = len(of.Scopes)
			scopes[r.scope] = j
			of.Scopes = append(of.Scopes, ScopeGroup{Scope: r.scope, runs: g[k : k : k+1]}) // mostly the only run
		}
		s := &of.Scopes[j]
		s.Bytes += r.end - r.start
		s.runs = append(s.runs, r)
	}
	return all
}

// AppendRecords appends the records of the scope to dst.
func (s *ScopeGroup) AppendRecords(dst, records []byte) []byte {
	for _, r := range s.runs {
		dst = append(dst, records[r.start:r.end]...)
	}
	return dst
}

// Format is the format of an exporter's output.
type Format interface {
	// Name is the name of the format in options and error texts.
	Name() string
	// NewEncoder returns an encoder with a cache of attribute sets of cacheBytes.
	NewEncoder(m *attr.Mapping, cacheBytes int) Encoder
	// Frame returns the bytes to write for b, in b's or f.Scratch's memory, and the length of their head. It may be
	// repeated.
	Frame(b *Batch, f *Framing) (framed []byte, head int)
	// Recognize tells whether a file is of this format. head is its beginning, not empty, and may end anywhere.
	Recognize(head []byte) Origin
}

// Lines is a Format of lines. A newline ends an incomplete line, and later lines stay readable.
type Lines interface {
	Format
	// Complete returns the number of whole entries in written, the written part of a frame behind the head. It is
	// negative if the batch is one record that its remainder can complete.
	Complete(b *Batch, written []byte) int
}

// Messages is a Format of consecutive messages. No message is found behind an incomplete one.
type Messages interface {
	Format
	// Whole returns the end of the complete messages in the size bytes of r. The first message starts at from.
	Whole(r io.ReaderAt, from, size int64) (int64, error)
}

// Origin is the relation of a file to a format.
type Origin uint8

// The origins.
const (
	Foreign Origin = iota // of another format
	Damaged               // of the format, but appended records may not be found
	Own                   // of the format
)

// RecognizeLines is Recognize for a format of lines with one of the given starts.
func RecognizeLines(head []byte, starts ...string) Origin {
	first := true
	for line := range bytes.Lines(head) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		for _, start := range starts {
			n := len(start)
			if first { // it may be incomplete
				n = min(n, len(line))
			}
			if len(line) < n || string(line[:n]) != start[:n] {
				continue
			}
			if first {
				return Own
			}
			return Damaged
		}
		first = false
	}
	if first {
		return Own // only newlines
	}
	return Foreign
}

// Joiner is a Format whose records can be joined again.
type Joiner interface {
	Lines
	// Join appends a record encoded into another batch.
	Join(b *Batch, r *Record)
}

// Record is an encoded record by itself.
type Record struct {
	Bytes    []byte
	Entries  int                // 1 for an entry
	Source   attribute.Distinct // identifies the resource
	Resource *op.Resource
}

// Framing is the context of a batch's write.
type Framing struct {
	Writer   string
	Sequence int64
	// Header asks for a header with the resource of the first record.
	Header bool
	Gaps   []op.Gap // the losses since the last batch
	// Newline asks for a newline in front: the last line is incomplete.
	Newline bool
	// Scratch and Tail are memory for the result.
	Scratch, Tail []byte
}

// Encoder encodes spans into batches. It is not safe for concurrent use.
type Encoder interface {
	// Add encodes an operation as an entry, and any other span as an ancestor if its trace is in t.
	Add(b *Batch, e span.Ended, t *traces.WithOps) Outcome
}

// Outcome is the result of adding a span.
type Outcome uint8

// The outcomes.
const (
	Skipped  Outcome = iota // neither an operation nor above one
	Entry                   // an operation
	Ancestor                // a span above operations
)

// DefaultCacheBytes is enough for about 20,000 attribute sets.
const DefaultCacheBytes = 32 << 20
