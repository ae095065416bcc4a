package optrace

import (
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/op"
)

// finished is what a pipeline takes: the span of an operation or of something
// else, or an operation that a Recorder has as an entry already.
type finished struct {
	// span is nil where there is an entry.
	span sdktrace.ReadOnlySpan
	// root is the local root above the span.
	root root
	// entry is complete but for its resource.
	entry    *op.Entry
	resource *resource.Resource
}

// entryEncoder is an encoder that takes entries as they are. The encoders of
// formats that are made of spans are not.
type entryEncoder interface {
	encoder
	addEntry(b *batch, e *op.Entry, r *resource.Resource, traces *recentTraces)
}
