package span

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/op"
)

// Root is the local root span above an operation.
type Root struct {
	Name string
	ID   op.SpanID
}

// Ended is a span that has ended, or an operation of a Recorder.
type Ended struct {
	// Span is nil for an operation of a Recorder until ReadOnly is called.
	Span sdktrace.ReadOnlySpan
	// Data is set for an operation of a Recorder, and only valid during the call
	// that it is passed to.
	Data *Data
	// Context and Parent are the span's, which need not be asked for again.
	Context, Parent trace.SpanContext
	// Root is the local root above the span; zero if it is not known or the span
	// itself.
	Root Root
	// Alone says that the trace has no other spans.
	Alone bool
}

// ReadOnly returns the span, which it makes for an operation of a Recorder.
func (e *Ended) ReadOnly() sdktrace.ReadOnlySpan {
	if e.Span == nil && e.Data != nil {
		e.Span = Snapshot(e.Data)
	}
	return e.Span
}

// IsLocalRoot reports whether a span with the given parent has no parent in this
// process.
func IsLocalRoot(parent trace.SpanContext) bool { return !parent.IsValid() || parent.IsRemote() }
