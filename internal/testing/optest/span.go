// Package optest has the conformance cases of all adapters from spans to entries: the SDK's span, the
// readers of OTLP, Jaeger and stdouttrace, and the Collector's pdata. The test of an adapter turns the
// neutral [Span] of a case into its own form and converts it:
//
//	func TestConformance(t *testing.T) {
//	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
//	if c.Needs.Has(optest.Duplicates) {
//	t.Skip("the format holds a key once")
//	}
//	return convert(encode(t, c.Span))
//	})
//	}
package optest

import (
	"encoding/json"

	"github.com/optrace/optrace/op"
)

// Span describes a finished span independent of any library and format.
type Span struct {
	Name         string
	TraceID      op.TraceID
	SpanID       op.SpanID
	ParentSpanID op.SpanID
	// Start and End are in Unix nanoseconds; 0 is unset.
	Start, End int64
	Attributes []Attr
	// Resource is nil for a span without a resource.
	Resource []Attr
	// Scope is the name of the instrumentation scope.
	Scope string
	// Failed is the status Error, and Error its description.
	Failed bool
	Error  string
	// TraceState is the W3C header.
	TraceState string
	// Dropped and DroppedLinks count the attributes and links dropped by the SDK's limits.
	Dropped, DroppedLinks uint32
	Links                 []Link
}

// Link is a link to another span.
type Link struct {
	TraceID    op.TraceID
	SpanID     op.SpanID
	Attributes []Attr
}

// Attr is an attribute.
type Attr struct {
	Key string
	// Value is a string, int64, float64, bool, []string, []int64, []float64, []bool, List or Map.
	Value any
}

// List is a list of values of any types of Attr.Value.
type List []any

// Map is a map from strings to values.
type Map []Attr

// MarshalJSON returns an object.
func (m Map) MarshalJSON() ([]byte, error) {
	members := make(map[string]any)
	for _, a := range m {
		members[a.Key] = a.Value
	}
	return json.Marshal(members)
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

// Case is a span and its expected entry.
type Case struct {
	Name  string
	Span  Span
	Needs Needs
	// Want is nil if the span is no operation.
	Want *op.Entry
}
