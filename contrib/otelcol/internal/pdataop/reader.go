// Package pdataop reads the operations among the Collector's spans. It encodes them as OTLP protobuf and
// uses the reader of files, so that a span becomes the same record from both.
package pdataop

import (
	"bytes"
	"fmt"
	"iter"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Reader reads requests one after the other. It is for use by one goroutine at a time.
type Reader struct{ frames *otlp.FrameReader }

// NewReader returns a Reader with a mapping of attributes; nil is the mapping of the conventions.
func NewReader(m *attr.Mapping) *Reader { return &Reader{otlp.NewFrameReader(m, otlp.FramingRaw)} }

// Records yields the resource of each ResourceSpans, followed by its operations and other spans. A record
// is valid until the next one. A ResourceSpans of excessive size is an error.
func (r *Reader) Records(td ptrace.Traces) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		var m ptrace.ProtoMarshaler
		text, err := m.MarshalTraces(td)
		if err != nil {
			yield(op.Record{}, fmt.Errorf("encoding spans: %w", err))
			return
		}
		r.frames.Records(bytes.NewBuffer(text), "spans", op.Position{})(yield)
	}
}
