package otlp_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/encoding/otlp"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// sanitized returns spans cleaned for backends.
func sanitized(spans []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	clean := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		d := span.ReadAll(s, s.SpanContext(), s.Parent())
		d.Clean()
		d.Resource = span.CleanResource(d.Resource)
		clean[i] = span.Snapshot(&d)
	}
	return clean
}

// transformed returns spans as OpenTelemetry's exporter sends them, sanitized.
func transformed(tb testing.TB, spans []sdktrace.ReadOnlySpan) *tracepb.TracesData {
	tb.Helper()
	client := new(spantest.OTLPClient)
	check.OK(tb, otlptrace.NewUnstarted(client).ExportSpans(tb.Context(), sanitized(spans)))
	return &tracepb.TracesData{ResourceSpans: client.Sent}
}

// makeTextValid puts U+FFFD for every byte that is not UTF-8: protocol buffers refuse other text, so it has no oracle.
func makeTextValid(m protoreflect.Message) {
	valid := func(v protoreflect.Value) protoreflect.Value {
		return protoreflect.ValueOfString(string([]rune(v.String())))
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() == protoreflect.StringKind && !f.IsList():
			m.Set(f, valid(v))
		case f.Message() != nil && f.IsList():
			for i := range v.List().Len() {
				makeTextValid(v.List().Get(i).Message())
			}
		case f.Message() != nil:
			makeTextValid(v.Message())
		}
		return true
	})
}

// oracle returns the expected content of a length-prefixed message of spans: its ResourceSpans, encoded and sorted,
// because the oracle has them in random order.
func oracle(tb testing.TB, spans []sdktrace.ReadOnlySpan) [][]byte {
	tb.Helper()
	want := transformed(tb, spans)
	makeTextValid(want.ProtoReflect())
	encoded := check.Must(proto.Marshal(want))(tb)
	return resourceSpans(tb, encoded)
}

// resourceSpans returns the fields of a TracesData message, sorted.
func resourceSpans(tb testing.TB, message []byte) (fields [][]byte) {
	tb.Helper()
	for len(message) > 0 {
		_, _, n := protowire.ConsumeField(message)
		if n < 0 {
			tb.Fatalf("not a TracesData message: %v", protowire.ParseError(n))
		}
		fields = append(fields, message[:n])
		message = message[n:]
	}
	slices.SortFunc(fields, bytes.Compare)
	return fields
}

// encoded returns one batch of spans, sanitized, in a format.
func encoded(tb testing.TB, f encoding.Format, spans []sdktrace.ReadOnlySpan) []byte {
	tb.Helper()
	text, shortened := encode(tb, f, spans)
	if shortened > 0 {
		tb.Fatalf("%d spans are too large", shortened)
	}
	return text
}

// encode is encoded, and returns the number of shortened spans; oracles shorten none.
func encode(tb testing.TB, f encoding.Format, spans []sdktrace.ReadOnlySpan) (text []byte, shortened int) {
	tb.Helper()
	var withOps traces.WithOps
	b := encoding.NewBatch(0)
	enc := f.NewEncoder(nil, encoding.DefaultCacheBytes)
	for _, s := range sanitized(spans) {
		if _, err := encoding.AddSpan(enc, b, s, &withOps); err != nil {
			tb.Fatal(err)
		}
	}
	framed, _ := f.Frame(b, &encoding.Framing{})
	return bytes.Clone(framed), b.Shortened
}

// checkOTLP compares both OTLP formats of spans, all operations, with the oracles.
func checkOTLP(tb testing.TB, spans []sdktrace.ReadOnlySpan) {
	tb.Helper()
	all := spantest.Messages(tb, encoded(tb, otlp.Proto, spans))
	if len(all) != 1 {
		tb.Fatalf("%d messages, want one per batch", len(all))
	}
	want := oracle(tb, spans)
	got := resourceSpans(tb, all[0])
	if len(got) != len(want) {
		tb.Fatalf("%d resources, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(want[i], got[i]) {
			tb.Fatalf("resource %d differs from the oracle:\nwant %x\ngot  %x", i, want[i], got[i])
		}
	}
	line := encoded(tb, otlp.JSON, spans)
	if bytes.IndexByte(line, '\n') != len(line)-1 {
		tb.Fatalf("not one line: %q", line)
	}
	fromJSON := otlptest.TracesJSON(tb, line)
	fromProto := new(tracepb.TracesData)
	check.OK(tb, proto.Unmarshal(all[0], fromProto))
	for _, rs := range fromProto.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				if proto.Size(s.Status) == 0 {
					s.Status = nil // as in JSON
				}
			}
		}
	}
	if !proto.Equal(fromJSON, fromProto) {
		tb.Fatalf("JSON and protocol buffers differ:\njson  %v\nproto %v\n%s", fromJSON, fromProto, line)
	}
}

// FuzzOTLP makes operations of its input and checks both OTLP formats against the oracles.
func FuzzOTLP(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{1, 2, 3, 5, 8, 13, 21}, 40))
	f.Add(bytes.Repeat([]byte{255, 0}, 500))
	f.Fuzz(func(t *testing.T, input []byte) {
		const maxSpans = 8
		r := &spantest.Random{Data: input}
		var stubs tracetest.SpanStubs
		for len(stubs) == 0 || len(r.Data) > 0 && len(stubs) < maxSpans {
			stubs = append(stubs, r.Operation())
		}
		spans := stubs.Snapshots()
		for _, f := range []encoding.Format{otlp.Proto, otlp.JSON} {
			if _, shortened := encode(t, f, spans); shortened > 0 {
				t.Skip("a span is too large")
			}
		}
		checkOTLP(t, spans)
	})
}

// Whatever operations have, and when lists come from the cache; values are nested deeper than anybody reads, too.
func TestOTLPMatchesOracle(t *testing.T) {
	deep := attribute.Int64SliceValue(make([]int64, 1000))
	for range 60 {
		deep = attribute.SliceValue(deep)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range cases.Count(t, 30, 300) {
		spans := &spantest.Random{Data: make([]byte, 4096)}
		for i := range spans.Data {
			spans.Data[i] = byte(r.Uint32())
		}
		var stubs tracetest.SpanStubs
		for range 1 + r.IntN(8) {
			s := spans.Operation()
			stubs = append(stubs, s, s)
		}
		last := &stubs[len(stubs)-1]
		last.Attributes = append(last.Attributes, attribute.KeyValue{Key: "deep", Value: deep})
		checkOTLP(t, stubs.Snapshots())
	}
}

// Spans of several scopes end in any order. Groups are written in the order of their first spans.
func TestOTLPGroups(t *testing.T) {
	var stubs tracetest.SpanStubs
	for i := range 40 {
		s := spantest.Operation(i)
		s.Resource = spantest.Service([]string{"trainer", "evaluator", "loader"}[i*7%3])
		s.InstrumentationScope.Name = []string{"a", "b", "c", "d"}[i*i%4]
		stubs = append(stubs, s)
	}
	checkOTLP(t, stubs.Snapshots())
	var traces tracepb.TracesData
	check.OK(t, proto.Unmarshal(spantest.Messages(t, encoded(t, otlp.Proto, stubs.Snapshots()))[0], &traces))
	var services []string
	for _, rs := range traces.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			if a.Key == "service.name" {
				services = append(services, a.Value.GetStringValue())
			}
		}
	}
	check.Equal(t, "resources", []string{"trainer", "evaluator", "loader"}, services)
}

// More scopes than are cached between batches appear once in a batch all the same.
func TestOTLPManyScopes(t *testing.T) {
	var stubs tracetest.SpanStubs
	for i := range 2600 {
		s := spantest.Operation(i)
		s.InstrumentationScope.Name = fmt.Sprint("scope ", i%1300)
		stubs = append(stubs, s)
	}
	checkOTLP(t, stubs.Snapshots())
}

// Equal but distinct values must not be mixed up.
func TestOTLPNegativeZero(t *testing.T) {
	zero := spantest.Operation(0)
	negative := spantest.Operation(0)
	zero.Attributes = append(zero.Attributes, attribute.Float64Slice("x", []float64{0}),
		attribute.Slice("y", attribute.Float64Value(0)))
	minus := math.Copysign(0, -1)
	negative.Attributes = append(negative.Attributes,
		attribute.Float64Slice("x", []float64{minus}), attribute.Slice("y", attribute.Float64Value(minus)))
	checkOTLP(t, tracetest.SpanStubs{zero, negative, zero}.Snapshots())
}
