// Package optest has the conformance cases of all adapters from spans to entries: the SDK's span, the
// readers of OTLP, Jaeger and stdouttrace, and the Collector's pdata. The test of an adapter turns the
// span of a case into its own form and converts it:
//
//	func TestConformance(t *testing.T) {
//	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
//	if c.Needs.Has(optest.Duplicates) {
//	t.Skip("the format holds a key once")
//	}
//	return convert(encode(t, c.Stub(t)))
//	})
//	}
package optest

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/op"
)

// Case is a span and its expected entry.
type Case struct {
	Name string
	// Span is the span without its trace state. TraceState is the W3C header.
	Span       tracetest.SpanStub
	TraceState string
	Needs      Needs
	// Want is nil if the span is no operation.
	Want *op.Entry
}

// Stub returns the span with its trace state. It skips the test if the SDK rejects the trace state.
func (c *Case) Stub(t *testing.T) tracetest.SpanStub {
	t.Helper()
	state, err := trace.ParseTraceState(c.TraceState)
	if err != nil {
		t.Skipf("the SDK does not take the trace state: %v", err)
	}
	stub := c.Span
	stub.SpanContext = stub.SpanContext.WithTraceState(state)
	return stub
}

// Needs is a set of features needed by a case and missing in some formats.
type Needs uint

// The needs.
const (
	// Nanoseconds: times that are not whole microseconds.
	Nanoseconds Needs = 1 << iota
	// Duplicates: a duplicate attribute key.
	Duplicates
	// NonFinite: a NaN or infinite number.
	NonFinite
	// InvalidUTF8: bytes that are not UTF-8.
	InvalidUTF8
	// EndBeforeStart: a span that ends before it starts.
	EndBeforeStart
	// NoTime: a span without a start.
	NoTime
	// NoIDs: a span without ids.
	NoIDs
	// NoResource: a span without a resource.
	NoResource
	// TraceState: the W3C header.
	TraceState
	// Dropped: the numbers of dropped attributes and links.
	Dropped
	// NestedLists: lists of lists, lists of mixed types and maps.
	NestedLists
	// LinkAttributes: attributes of links.
	LinkAttributes
)

// needNames are the names of the needs in cases.jsonl, in order.
var needNames = []string{
	"Nanoseconds", "Duplicates", "NonFinite", "InvalidUTF8", "EndBeforeStart", "NoTime", "NoIDs", "NoResource",
	"TraceState", "Dropped", "NestedLists", "LinkAttributes",
}

// Has reports whether n has all of needs.
func (n Needs) Has(needs Needs) bool { return n&needs == needs }
