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
	"bytes"
	_ "embed" // the cases
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// The times of most cases.
const (
	start    = 1_700_000_000_123_456_000
	duration = 12_000
)

// The ids of most cases.
var (
	TraceID = op.TraceID{
		0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03, 0x81, 0x03, 0xd2, 0x69, 0xb6, 0x33, 0x81, 0x3f, 0xc6, 0x0c,
	}
	SpanID   = op.SpanID{0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74}
	ParentID = op.SpanID{0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x73}
)

// casesText has a case per line:
//
//	{"name":…, "needs":[…], "attributes":[[key, value], …], "span":{…}, "want":{…}}
//
// span has the fields of spanText that differ from baseSpan. want has the fields of [op.Entry] that differ from
// baseEntry; without want the span is no operation. Lists of one type are JSON arrays. Other values are {"list":[…]},
// {"map":[[key, value], …]}, {"ints":[]} for an empty list, {"float":"NaN"} and {"hex":…} for bytes that are not
// UTF-8. Numbers with a point or exponent are float64.
//
//go:embed cases.jsonl
var casesText []byte

// spanText is a span of a case. A time of 0 is unset, and a nil Resource is none.
type spanText struct {
	Name                     string
	TraceID                  op.TraceID
	SpanID, ParentSpanID     op.SpanID
	Start, End               int64 // Unix nanoseconds
	Resource                 []pair
	Scope, Error, TraceState string
	Failed                   bool
	Dropped, DroppedLinks    int
	Links                    []linkText
}

type linkText struct {
	TraceID    op.TraceID
	SpanID     op.SpanID
	Attributes []pair
}

func baseSpan() spanText {
	return spanText{
		Name: "span name", TraceID: TraceID, SpanID: SpanID, ParentSpanID: ParentID,
		Start: start, End: start + duration,
		Resource: []pair{pair(attribute.String(attrkey.ServiceName, "trainer"))}, Scope: "example.com/engine",
	}
}

func baseEntry() *op.Entry {
	return &op.Entry{
		Operation: "matmul", Kind: op.KindCompute, KindRule: op.RuleDefault, Start: op.Known(start), Duration: duration,
		TraceID: TraceID, SpanID: SpanID, ParentSpanID: ParentID, Service: "trainer", Scope: "example.com/engine",
	}
}

// Cases returns all cases.
func Cases() []Case {
	var all []Case
	for line := range bytes.Lines(casesText) {
		var c struct {
			Name       string
			Needs      []string
			Attributes []pair
			Span       spanText
			Want       map[string]json.RawMessage
		}
		c.Span = baseSpan()
		decode(line, &c)
		loaded := Case{Name: c.Name, Span: c.Span.stub(c.Attributes), TraceState: c.Span.TraceState, Needs: c.Needs}
		if c.Want != nil {
			loaded.Want = baseEntry()
			for name, text := range c.Want {
				setField(reflect.ValueOf(loaded.Want).Elem().FieldByName(name), text)
			}
		}
		all = append(all, loaded)
	}
	return append(all, tooManyInputs())
}

// tooManyInputs has one input more than an entry keeps.
func tooManyInputs() Case {
	base := baseSpan()
	stub := base.stub(nil)
	stub.Attributes = []attribute.KeyValue{attribute.String(attrkey.Name, "matmul"),
		attribute.StringSlice(attrkey.InputShapes, slices.Repeat([]string{"2"}, op.MaxInputs+1))}
	e := baseEntry()
	e.InputShapes = slices.Repeat([]op.Shape{{2}}, op.MaxInputs)
	e.Warn = op.WarnShapeTruncated
	return Case{Name: "inputs/too many", Span: stub, Want: e}
}

func (s *spanText) stub(attrs []pair) tracetest.SpanStub {
	context := func(traceID op.TraceID, id op.SpanID) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(traceID), SpanID: trace.SpanID(id)})
	}
	stub := tracetest.SpanStub{
		Name: s.Name, SpanContext: context(s.TraceID, s.SpanID), Parent: context(s.TraceID, s.ParentSpanID),
		StartTime: timeOf(s.Start), EndTime: timeOf(s.End), Attributes: keyValues(attrs),
		DroppedAttributes: s.Dropped, DroppedLinks: s.DroppedLinks,
		InstrumentationScope: instrumentation.Scope{Name: s.Scope},
	}
	for _, l := range s.Links {
		stub.Links = append(stub.Links, sdktrace.Link{SpanContext: context(l.TraceID, l.SpanID),
			Attributes: keyValues(l.Attributes)})
	}
	if s.Resource != nil {
		stub.Resource = resource.NewSchemaless(keyValues(s.Resource)...)
	}
	if s.Failed {
		stub.Status = sdktrace.Status{Code: codes.Error, Description: s.Error}
	}
	return stub
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func decode(text []byte, to any) {
	if err := json.Unmarshal(text, to); err != nil {
		panic(fmt.Sprintf("cases.jsonl: %v: %s", err, text)) // embedded
	}
}

// setField sets a field of an entry. Enumerations are names.
func setField(field reflect.Value, text []byte) {
	var name string
	switch to := field.Addr().Interface().(type) {
	case *op.Kind:
		decode(text, &name)
		*to, _ = op.ParseKind(name)
	case *op.KindRule:
		decode(text, &name)
		*to, _ = op.ParseKindRule(name)
	case *op.Side:
		*to = op.SideHost // the only name
	case *op.Warning:
		var names []string
		decode(text, &names)
		for _, name := range names {
			w, _ := op.ParseWarning(name)
			*to |= w
		}
	default:
		decode(text, to)
	}
}

// pair is an attribute as [key, value].
type pair attribute.KeyValue

// UnmarshalJSON decodes an attribute.
func (a *pair) UnmarshalJSON(text []byte) error {
	var parts [2]json.RawMessage
	decode(text, &parts)
	decode(parts[0], &a.Key)
	a.Value = decodeValue(parts[1])
	return nil
}

func keyValues(pairs []pair) []attribute.KeyValue {
	return collect(pairs, func(a pair) attribute.KeyValue { return attribute.KeyValue(a) })
}

func collect[E, V any](list []E, of func(E) V) []V {
	values := make([]V, len(list))
	for i, e := range list {
		values[i] = of(e)
	}
	return values
}

func decodeValue(text []byte) attribute.Value {
	switch {
	case text[0] == '"':
		return attribute.StringValue(decodeAs[string](text))
	case text[0] == 't' || text[0] == 'f':
		return attribute.BoolValue(decodeAs[bool](text))
	case text[0] == '[':
		return decodeList(decodeValues(decodeAs[[]json.RawMessage](text)))
	case text[0] == '{':
		return decodeSpecial(text)
	case bytes.ContainsAny(text, ".e"):
		return attribute.Float64Value(decodeAs[float64](text))
	}
	return attribute.Int64Value(decodeAs[int64](text))
}

func decodeAs[T any](text []byte) (v T) {
	decode(text, &v)
	return v
}

func decodeValues(texts []json.RawMessage) []attribute.Value {
	return collect(texts, func(text json.RawMessage) attribute.Value { return decodeValue(text) })
}

// decodeList returns a list of values of one type.
func decodeList(values []attribute.Value) attribute.Value {
	switch values[0].Type() {
	case attribute.STRING:
		return attribute.StringSliceValue(collect(values, attribute.Value.AsString))
	case attribute.BOOL:
		return attribute.BoolSliceValue(collect(values, attribute.Value.AsBool))
	case attribute.INT64:
		return attribute.Int64SliceValue(collect(values, attribute.Value.AsInt64))
	}
	return attribute.Float64SliceValue(collect(values, attribute.Value.AsFloat64))
}

// decodeSpecial decodes a value that JSON lacks.
func decodeSpecial(text []byte) attribute.Value {
	var v struct {
		List       []json.RawMessage
		Map        []pair
		Ints       []int64
		Float, Hex string
	}
	decode(text, &v)
	switch {
	case v.List != nil:
		return attribute.SliceValue(decodeValues(v.List)...)
	case v.Map != nil:
		return attribute.MapValue(keyValues(v.Map)...)
	case v.Float == "+Inf":
		return attribute.Float64Value(math.Inf(1))
	case v.Float != "":
		return attribute.Float64Value(math.NaN())
	case v.Hex != "":
		b, _ := hex.DecodeString(v.Hex)
		return attribute.StringValue(string(b))
	}
	return attribute.Int64SliceValue(v.Ints)
}

// Run runs every case as a subtest. convert turns the span of a case into an entry, or returns false if
// the span is no operation. It skips the test if its format lacks a need of the case. convert removes the
// root and warnings of its format, such as op.WarnMicroseconds.
func Run(t *testing.T, convert func(t *testing.T, c Case) (*op.Entry, bool)) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			got, ok := convert(t, c)
			if !ok {
				got = nil
			}
			if diff := cmp.Diff(c.Want, got); diff != "" {
				t.Fatalf("entry (-want +got):\n%s", diff)
			}
			if got == nil {
				return
			}
			if err := got.Validate(); err != nil {
				t.Errorf("the entry is not valid: %v", err)
			}
		})
	}
}

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
	Want  *op.Entry // nil if the span is no operation
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
