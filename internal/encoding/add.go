package encoding

import (
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/span"
	"github.com/optrace/optrace/internal/traces"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Spans come from the application and may panic. Such a span leaves nothing
// behind in the batch, is reported, and counts as a lost operation.

// Add adds e to b.
func Add(enc Encoder, b *Batch, e *span.Ended, t *traces.WithOps) (out Outcome, err error) {
	defer b.recover(len(b.Records), &err)
	return enc.Add(b, *e, t), nil
}

// AddSpan is Add for a span by itself.
func AddSpan(enc Encoder, b *Batch, s sdktrace.ReadOnlySpan, t *traces.WithOps) (out Outcome, err error) {
	defer b.recover(len(b.Records), &err)
	return enc.Add(b, span.Ended{Span: s, Context: s.SpanContext(), Parent: s.Parent()}, t), nil
}

// AddLinked notes the traces that a recorded span links to: what was done for their
// requests is on record, so the spans of the requests are worth writing too.
func AddLinked(t *traces.WithOps, d *span.Data) {
	for i := range d.Links {
		if id := op.TraceID(d.Links[i].SpanContext.TraceID()); !id.IsZero() {
			t.Add(id)
		}
	}
}

// IsOperation reports whether s would become an entry. A span that panics counts
// as one, as in Add.
func IsOperation(m *attr.Mapping, s sdktrace.ReadOnlySpan) (is bool) {
	defer func() {
		if recover() != nil {
			is = true
		}
	}()
	return span.IsOperation(m, s.Attributes())
}

// recover is deferred while spans are added. It turns a panic into an error and
// removes the records after size.
func (b *Batch) recover(size int, err *error) {
	if p := recover(); p != nil {
		b.Records = b.Records[:size]
		*err = fmt.Errorf("traces export: converting a span panicked: %v", p)
	}
}
