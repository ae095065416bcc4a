// Package encoding is the contract between encoders and the sink: a [Format]
// makes an [Encoder], which appends spans to a [Batch], and frames the batch when
// it is written.
//
// It knows no particular format: these are in the packages below it, entries and
// otlp. The pipelines fill batches, the sink writes them.
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
	// Name is the name of the format, as options and error texts have it.
	Name() string
	// NewEncoder returns an encoder whose cache of attribute sets takes cacheBytes.
	NewEncoder(m *attr.Mapping, cacheBytes int) Encoder
	// Frame returns b as it is written, in the memory of b or of f.Scratch, and the length of the part before
	// b's records. It may be called again.
	Frame(b *Batch, f *Framing) (framed []byte, head int)
	// Recognize says what a file is that starts with head, which is not empty and may end anywhere.
	Recognize(head []byte) Origin
}

// Lines is a Format of lines: an incomplete one spoils nothing but itself once a newline follows.
type Lines interface {
	Format
	// Complete returns how many entries are whole in the part of a frame behind the head that was written. It is
	// negative if the batch is one record, which its rest can still complete.
	Complete(b *Batch, written []byte) int
}

// Messages is a Format of messages behind one another: nothing is found behind an incomplete one.
type Messages interface {
	Format
	// Whole returns up to where the size bytes of r are complete messages, the first of which begins at from.
	Whole(r io.ReaderAt, from, size int64) (int64, error)
}

// Origin is what a file is to a format.
type Origin uint8

// The origins.
const (
	Foreign Origin = iota // of something else
	Damaged               // of the format, but what is appended may not be found
	Own                   // of the format
)

// RecognizeLines is Recognize for a format whose lines start with one of starts.
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
		return Own // there are only newlines
	}
	return Foreign
}

// Joiner is a Format whose records can be put together again.
type Joiner interface {
	Lines
	// Join appends a record that was encoded into another batch.
	Join(b *Batch, r *Record)
}

// Record is an encoded record by itself.
type Record struct {
	Bytes    []byte
	Entries  int                // 1 for an entry
	Source   attribute.Distinct // identifies the resource
	Resource *op.Resource
}

// Framing is the context in which a batch is written.
type Framing struct {
	Writer   string
	Sequence int64
	// Header asks for a header: the resource of the records that follow.
	Header bool
	// Gaps are the losses since the last batch.
	Gaps []op.Gap
	// Newline asks for a newline in front: the last line is incomplete.
	Newline bool
	// Scratch and Tail are memory for the result.
	Scratch, Tail []byte
}

// Encoder encodes spans into batches. It is used by one goroutine at a time.
type Encoder interface {
	// Add encodes an operation as an entry, and another span as an ancestor if its trace is in t.
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
