package optraceexporter

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdataop"
	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/encoding/entries"
	"github.com/optrace/optrace/op"
)

// writing is the writing of one request. It holds the sink while batch is not nil.
type writing struct {
	*fileExporter
	ctx   context.Context
	batch *encoding.Batch // nil once the sink could not be had again
	lost  uint64          // operations that there was no time for
	err   error
}

// records writes the operations of td, and then its other spans: those above operations are
// known then.
func (w *writing) records(td ptrace.Traces) {
	var others []spanOf
	for _, rs := range td.ResourceSpans().All() {
		from := newSource(pdataop.Resource(rs.Resource()))
		w.reader.SetResource(from.resource)
		for _, ss := range rs.ScopeSpans().All() {
			w.reader.SetScope(ss.Scope())
			for _, s := range ss.Spans().All() {
				if e, ok := w.reader.Entry(s); ok {
					w.entry(from, e)
				} else {
					others = append(others, spanOf{from, w.reader.Span(s).Clone()})
				}
			}
		}
	}
	for _, o := range others {
		w.span(o.source, o.span)
	}
}

// spanOf is a span that is no operation.
type spanOf struct {
	source *source
	span   *op.Span
}

func (w *writing) entry(from *source, e *op.Entry) {
	if !w.hasRoom() {
		w.lost++
		return
	}
	w.traces.Add(e.TraceID)
	for i := range e.Links {
		w.traces.Add(e.Links[i].TraceID)
	}
	if shorten(e) {
		w.batch.Shortened++
	}
	w.line = e.AppendJSON(w.line[:0])
	w.join(from, 1)
}

// span adds another span to the batch, if it is wanted.
func (w *writing) span(from *source, s *op.Span) {
	if w.cfg.OperationTracesOnly && !w.traces.Has(s.TraceID) || !w.hasRoom() {
		return
	}
	for i := range s.Links {
		w.traces.Add(s.Links[i].TraceID)
	}
	if shortenSpan(s) {
		w.batch.Shortened++
	}
	w.line = s.AppendJSON(w.line[:0])
	w.join(from, 0)
}

// join adds the line to the batch, which holds as many entries as n.
func (w *writing) join(from *source, n int) {
	w.line = append(w.line, '\n')
	entries.Format.Join(w.batch, &encoding.Record{Bytes: w.line, Entries: n, Source: from.id, Resource: from.resource})
	const keep = 1 << 20
	if cap(w.line) > keep {
		w.line = nil
	}
}

// source is the resource of records.
type source struct {
	id       attribute.Distinct
	resource *op.Resource
}

// newSource returns a source, and cuts what is too large in r.
func newSource(r *op.Resource) *source {
	shortenResource(r)
	set := attribute.NewSet(attribute.String("header", string(op.AppendHeader(nil, r))))
	return &source{set.Equivalent(), r}
}

// hasRoom reports whether the batch takes a further record. A full one is written, and
// another one begun.
func (w *writing) hasRoom() bool {
	if w.batch == nil {
		return false
	}
	if !w.batch.Full() {
		return true
	}
	w.err = errors.Join(w.err, w.submit())
	if err := w.sink.Acquire(w.ctx); err != nil {
		w.err = errors.Join(w.err, err)
		return false
	}
	w.batch = w.take()
	return true
}

func (w *writing) submit() error {
	w.sink.Drop("timeout", w.lost)
	w.lost = 0
	b := w.batch
	w.batch = nil
	switch {
	case b == nil:
		return nil
	case b.Empty():
		w.recycle(b)
		w.sink.Release()
		return nil
	}
	return w.sink.Submit(w.ctx, b, w.recycle)
}
