package optraceexporter

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/op"
)

// encode returns a batch of the operations of td, followed by its other spans, because the operations
// select these. An error reports omitted records. The caller holds the sink.
func (e *fileExporter) encode(td ptrace.Traces) (*encoding.Batch, error) {
	w := batchWriter{batch: encoding.NewBatch(0)}
	var others []spanOf
	for rec, err := range e.reader.Records(td) {
		switch {
		case err != nil:
			w.err = errors.Join(w.err, err)
		case rec.Resource != nil:
			w.source = newSource(rec.Resource.Clone())
		case rec.Entry != nil:
			e.traces.Add(rec.Entry.TraceID)
			e.addLinked(rec.Entry.Links)
			if !w.write(rec.Entry.AppendJSON(w.line[:0]), 1) {
				e.sink.Drop("too_large", 1)
			}
		case rec.Span != nil:
			others = append(others, spanOf{w.source, rec.Span.Clone()})
		}
	}
	for _, o := range others {
		if e.cfg.OperationTracesOnly && !e.traces.Has(o.TraceID) {
			continue
		}
		e.addLinked(o.Links)
		w.source = o.source
		w.write(o.AppendJSON(w.line[:0]), 0)
	}
	return w.batch, w.err
}

func (e *fileExporter) addLinked(links []op.Link) {
	for i := range links {
		e.traces.Add(links[i].TraceID)
	}
}

type spanOf struct {
	source
	*op.Span
}

type source struct {
	id       attribute.Distinct
	resource *op.Resource
}

// newSource returns the source of a resource. It only keeps the numbers of a resource too large to be read again.
func newSource(r *op.Resource) source {
	header := op.AppendHeader(nil, r)
	if len(header) > encoding.MaxRecordBytes {
		r = &op.Resource{Rank: r.Rank, WorldSize: r.WorldSize}
		header = op.AppendHeader(nil, r)
	}
	set := attribute.NewSet(attribute.String("header", string(header)))
	return source{set.Equivalent(), r}
}

type batchWriter struct {
	batch  *encoding.Batch
	source source
	line   []byte
	err    error
}

// write adds a record of n entries. It reports whether the record can be read again.
func (w *batchWriter) write(line []byte, n int) bool {
	w.line = append(line, '\n')
	if len(w.line) > encoding.MaxRecordBytes {
		w.err = errors.Join(w.err, fmt.Errorf("a record of %d bytes is too large to be read again", len(w.line)))
		return false
	}
	entries.Format.Join(w.batch, &encoding.Record{Bytes: w.line, Entries: n, Source: w.source.id,
		Resource: w.source.resource})
	return true
}
