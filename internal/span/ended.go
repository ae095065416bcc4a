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
	// Data is that of an operation of a Recorder, valid during the call that it is passed to.
	Data            *Data
	Context, Parent trace.SpanContext // of the span
	Root            Root              // above the span; zero if it is not known or the span itself
	Alone           bool              // the trace has no other spans
}

// ReadOnly returns the span, which it makes for an operation of a Recorder.
func (e *Ended) ReadOnly() sdktrace.ReadOnlySpan {
	if e.Span == nil && e.Data != nil {
		e.Span = Snapshot(e.Data)
	}
	return e.Span
}

// InContext returns s with another context.
func InContext(s sdktrace.ReadOnlySpan, c trace.SpanContext) sdktrace.ReadOnlySpan {
	return inContext{s, c}
}

type inContext struct {
	sdktrace.ReadOnlySpan
	context trace.SpanContext
}

func (s inContext) SpanContext() trace.SpanContext { return s.context }

// IsLocalRoot reports whether a span with the given parent has no parent in this process.
func IsLocalRoot(parent trace.SpanContext) bool { return !parent.IsValid() || parent.IsRemote() }
