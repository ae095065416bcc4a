// Package encoding is the contract between encoders and the sink: a [Format] makes an [Encoder], which appends spans
// to a [Batch], and frames the batch for writing.
//
// The formats are in the packages below it, entries and otlp. The pipelines fill batches, the sink writes them.
package encoding

import (
	"bytes"
	"io"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Format is the format of an exporter's output.
type Format interface {
	// Name is the name of the format in options and error texts.
	Name() string
	// NewEncoder returns an encoder with a cache of attribute sets of cacheBytes.
	NewEncoder(m *attr.Mapping, cacheBytes int) Encoder
	// Frame returns the bytes to write for b, in the memory of b or of f.Scratch, and the length of the part before
	// b's records. It may be called again.
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
