package op

// Span is a span that is no operation: a request, a step, a layer. The tree
// and the latency of requests need it.
type Span struct {
	Name         string
	TraceID      TraceID
	SpanID       SpanID
	ParentSpanID SpanID
	// RemoteParent tells that the parent lies in another process, which makes
	// this span a local root.
	RemoteParent bool
	// Start is in Unix nanoseconds, Duration in nanoseconds.
	Start    Int
	Duration int64
	Service  string
	// Failed tells that the span ended in an error.
	Failed bool
}
