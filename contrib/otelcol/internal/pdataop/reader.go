// Package pdataop reads the operations among the Collector's spans: as OTLP in protobuf, by the
// reader of files, so that a span is the same record wherever it is read. It knows neither the
// configurations of the components that use it nor what becomes of the records.
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

// Reader reads requests, one after the other. It is used by one goroutine at a time.
type Reader struct{ frames *otlp.FrameReader }

// NewReader returns a Reader that reads attributes as m says; nil stands for the conventions.
func NewReader(m *attr.Mapping) *Reader { return &Reader{otlp.NewFrameReader(m, otlp.FramingRaw)} }

// Records yields the resource of each ResourceSpans, and behind it the operations and the other
// spans. A record is valid until the next one. An error is of a ResourceSpans that
// is too large.
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
