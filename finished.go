package optrace

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// finished is what a pipeline takes: the span of an operation or of something
// else, or an operation of a Recorder, of which there is no span.
type finished struct {
	// span is nil where there is a view, which is the caller's.
	span sdktrace.ReadOnlySpan
	view *spanView
	// context and parent are the span's, which need not be asked for again.
	context, parent trace.SpanContext
	// root is the local root above it.
	root root
	// alone tells that the span is all that there is of its trace.
	alone bool
}
