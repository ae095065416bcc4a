package span

import (
	"cmp"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/op"
)

// Root is the local root span above an operation.
type Root struct {
	Name string
	ID   op.SpanID
}

// Ended is an ended span, or an operation of a Recorder.
type Ended struct {
	Span            sdktrace.ReadOnlySpan // nil for an operation of a Recorder until ReadOnly is called
	Data            *Data                 // the data of a Recorder's operation, valid during the call
	Context, Parent trace.SpanContext     // of the span
	Resource        *resource.Resource    // in place of the span's; nil for the span's own
	Root            Root                  // above the span; zero if unknown or the span itself
	Differs         bool                  // Context or Resource may differ from Span's
	Alone           bool                  // the trace has no other spans
}

// ReadOnly returns the span. For an operation of a Recorder it makes one.
func (e *Ended) ReadOnly() sdktrace.ReadOnlySpan {
	if e.Span == nil && e.Data != nil {
		e.Span = Snapshot(e.Data)
	}
	return e.Span
}

// Held returns the span with its recorded context and resource.
func (e *Ended) Held() sdktrace.ReadOnlySpan {
	if !e.Differs {
		return e.Span
	}
	return held{e.Span, e.Context, cmp.Or(e.Resource, e.Span.Resource())}
}

type held struct {
	sdktrace.ReadOnlySpan
	context  trace.SpanContext
	resource *resource.Resource
}

func (s held) SpanContext() trace.SpanContext { return s.context }
func (s held) Resource() *resource.Resource   { return s.resource }

// IsLocalRoot reports whether a span with the given parent has no parent in this process.
func IsLocalRoot(parent trace.SpanContext) bool { return !parent.IsValid() || parent.IsRemote() }
