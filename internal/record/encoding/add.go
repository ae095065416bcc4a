package encoding

import (
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Spans come from the application and may panic. Such a span is reported and counts as a lost operation.

// Add adds e to b, and the earlier spans that it refers to.
func Add(enc Encoder, b *Batch, e *span.Ended, t *traces.WithOps) (out Outcome, err error) {
	if out, err = AddOne(enc, b, e, t); len(b.refs) == 0 {
		return out, err // nearly always
	}
	for late, ok := b.Late(t); ok; late, ok = b.Late(t) {
		if _, lateErr := AddOne(enc, b, &late, t); lateErr != nil {
			t.LoseParent()
		}
	}
	return out, err
}

// AddSpan is Add for a span by itself.
func AddSpan(enc Encoder, b *Batch, s sdktrace.ReadOnlySpan, t *traces.WithOps) (out Outcome, err error) {
	defer b.recover(len(b.Records), &err)
	return Add(enc, b, &span.Ended{Span: s, Context: s.SpanContext(), Parent: s.Parent()}, t)
}

// AddOne adds e to b. The caller then adds the spans of [Batch.Late].
func AddOne(enc Encoder, b *Batch, e *span.Ended, t *traces.WithOps) (out Outcome, err error) {
	defer b.recover(len(b.Records), &err)
	if out = enc.Add(b, *e, t); out != Skipped {
		b.refer(traces.RefTo(op.TraceID(e.Context.TraceID()), op.SpanID(e.Parent.SpanID())))
	}
	return out, nil
}

// IsAncestor reports whether to write e, a span other than an operation with the data d: its trace has operations.
// Otherwise IsAncestor holds e for later operations.
func IsAncestor(e *span.Ended, d *span.Data, t *traces.WithOps) bool {
	id := d.TraceID()
	if e.Span == nil || t.Has(id) {
		return t.Has(id)
	}
	bytes := span.Bytes(d.Name, d.Status, d.Attrs, d.Events, d.Links)
	return !t.Hold(e.Held(), id, traces.RefTo(id, d.SpanID()), traces.RefTo(id, d.ParentID()), bytes)
}

// AddLinked notes the spans linked to by a recorded span, and their traces: these requests are worth writing.
func AddLinked(b *Batch, t *traces.WithOps, d *span.Data) {
	for i := range d.Links {
		c := d.Links[i].SpanContext
		if id := op.TraceID(c.TraceID()); !id.IsZero() {
			t.Add(id)
			b.refer(traces.RefTo(id, op.SpanID(c.SpanID())))
		}
	}
}

// IsOperation reports whether s would become an entry. A span that panics counts as one, as in Add.
func IsOperation(m *attr.Mapping, s sdktrace.ReadOnlySpan) (is bool) {
	defer func() {
		if recover() != nil {
			is = true
		}
	}()
	return span.IsOperation(m, s.Attributes())
}

// recover is deferred while spans are added. It turns a panic into an error and removes the records after size.
func (b *Batch) recover(size int, err *error) {
	if p := recover(); p != nil {
		b.Records = b.Records[:size]
		*err = fmt.Errorf("traces export: converting a span panicked: %v", p)
	}
}
