package optrace

import sdktrace "go.opentelemetry.io/otel/sdk/trace"

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
