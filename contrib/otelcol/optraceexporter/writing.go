package optraceexporter

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdataop"
	"github.com/optrace/optrace/internal/encoding"
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

func (w *writing) operations(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		w.from(rs)
		for _, ss := range rs.ScopeSpans().All() {
			w.reader.SetScope(ss.Scope())
			for _, s := range ss.Spans().All() {
				if e, ok := w.reader.Entry(s); ok {
					w.entry(e)
				}
			}
		}
	}
}

// spans writes the other spans of td: those above operations are known now.
func (w *writing) spans(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		w.from(rs)
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				if !w.reader.IsOperation(s) {
					w.span(s)
				}
			}
		}
	}
}

// from makes rs the source of what follows.
func (w *writing) from(rs ptrace.ResourceSpans) {
	r := pdataop.Resource(rs.Resource())
	w.reader.SetResource(r)
	w.lines.from(r)
}

func (w *writing) entry(e *op.Entry) {
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
	w.lines.entry(w.batch, e)
}

// span adds another span to the batch, if it is wanted.
func (w *writing) span(s ptrace.Span) {
	if w.cfg.OperationTracesOnly && !w.traces.Has(op.TraceID(s.TraceID())) || !w.hasRoom() {
		return
	}
	sp := w.reader.Span(s)
	for i := range sp.Links {
		w.traces.Add(sp.Links[i].TraceID)
	}
	if shortenSpan(sp) {
		w.batch.Shortened++
	}
	w.lines.span(w.batch, sp)
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
