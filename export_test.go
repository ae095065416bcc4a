package optrace

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/attrcache"
)

// SafeSpans returns what an OTLP exporter makes of spans before they go out.
func SafeSpans(spans []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	var f safety
	safe := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		safe[i], _ = f.span(s)
	}
	return safe
}

// Discard forgets what r has recorded.
func (r *Recorder) Discard() {
	r.End()
	r.empty()
}

// SetMemoBytes bounds what e remembers of spans that are alike; 0 is nothing.
func SetMemoBytes(e *Exporter, n int) {
	switch enc := e.enc.(type) {
	case *entriesEncoder:
		enc.memo = attrcache.New[entryLine](n, false)
	case *otlpEncoder:
		enc.memo = attrcache.New[knownSpan](n, false)
	}
}

// MemoHits returns how many of the last look-ups found something.
func MemoHits(e *Exporter) int {
	switch enc := e.enc.(type) {
	case *entriesEncoder:
		return enc.memo.Hits()
	case *otlpEncoder:
		return enc.memo.Hits()
	}
	return 0
}
