// Package optest has the conformance cases of all adapters from spans to entries: the SDK's span, the
// readers of OTLP, Jaeger and stdouttrace, and the Collector's pdata. The test of an adapter turns the
// span of a case into its own form and converts it:
//
//	func TestConformance(t *testing.T) {
//	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
//	if c.Has("Duplicates") {
//	t.Skip("the format holds a key once")
//	}
//	return convert(encode(t, c.Stub(t)))
//	})
//	}
package optest

import (
	"slices"
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
	// Needs are features of the span that some formats lack, by the names of cases.jsonl:
	//
	//	Nanoseconds     times that are not whole microseconds
	//	Duplicates      a duplicate attribute key
	//	NonFinite       a NaN or infinite number
	//	InvalidUTF8     bytes that are not UTF-8
	//	EndBeforeStart  a span that ends before it starts
	//	NoTime, NoIDs, NoResource
	//	TraceState      the W3C header
	//	Dropped         the numbers of dropped attributes and links
	//	NestedLists     lists of lists, lists of mixed types and maps
	//	LinkAttributes  attributes of links
	Needs []string
	// Want is nil if the span is no operation.
	Want *op.Entry
}

// Has reports whether the case needs one of the features.
func (c *Case) Has(features ...string) bool {
	return slices.ContainsFunc(c.Needs, func(need string) bool { return slices.Contains(features, need) })
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
