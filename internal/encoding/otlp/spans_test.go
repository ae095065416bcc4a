package otlp_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/encoding/otlp"
	"github.com/optrace/optrace/internal/spantest"
)

// Each of these differs from a plain operation in one thing.
func TestOTLPMatchesOracle(t *testing.T) {
	state := check.Must(trace.ParseTraceState(`ot=th:c;rv:1234567890abcd,vendor="x\y"`))(t)
	deep := attribute.Int64SliceValue([]int64{1})
	for range 60 {
		deep = attribute.SliceValue(deep)
	}
	remote := spantest.SpanContext(3, 4).WithRemote(true).WithTraceState(state).WithTraceFlags(0x03)
	for name, change := range map[string]func(*tracetest.SpanStub){
		"plain":              func(*tracetest.SpanStub) {},
		"root":               func(s *tracetest.SpanStub) { s.Parent = trace.SpanContext{} },
		"remote parent":      func(s *tracetest.SpanStub) { s.Parent = remote },
		"trace state, flags": func(s *tracetest.SpanStub) { s.SpanContext = remote },
		"zero ids":           func(s *tracetest.SpanStub) { s.SpanContext = trace.SpanContext{} },
		"zero times":         func(s *tracetest.SpanStub) { s.StartTime, s.EndTime = time.Time{}, time.Time{} },
		"times before 1970":  func(s *tracetest.SpanStub) { s.StartTime = time.Unix(-1, 0) },
		"no name":            func(s *tracetest.SpanStub) { s.Name = "" },
		"kind unspecified":   func(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindUnspecified },
		"kind server":        func(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindServer },
		"kind client":        func(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindClient },
		"kind producer":      func(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindProducer },
		"kind consumer":      func(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindConsumer },
		"kind unknown":       func(s *tracetest.SpanStub) { s.SpanKind = 77 },
		"ok":                 func(s *tracetest.SpanStub) { s.Status.Code = codes.Ok },
		"error": func(s *tracetest.SpanStub) {
			s.Status = sdktrace.Status{Code: codes.Error, Description: "out of memory"}
		},
		"dropped": func(s *tracetest.SpanStub) {
			s.DroppedAttributes, s.DroppedEvents, s.DroppedLinks = 1, math.MaxInt, -1
		},
		"no resource":    func(s *tracetest.SpanStub) { s.Resource = nil },
		"empty resource": func(s *tracetest.SpanStub) { s.Resource = resource.Empty() },
		"resource with schema": func(s *tracetest.SpanStub) {
			s.Resource = resource.NewWithAttributes("https://example.test/1", attribute.Int("b", 1), attribute.String("a", ""))
		},
		"no scope": func(s *tracetest.SpanStub) { s.InstrumentationScope = instrumentation.Scope{} },
		"whole scope": func(s *tracetest.SpanStub) {
			s.InstrumentationScope = instrumentation.Scope{
				Name: "n", Version: "v", SchemaURL: "u", Attributes: attribute.NewSet(attribute.Bool("x", true)),
			}
		},
		"scope of attributes": func(s *tracetest.SpanStub) {
			s.InstrumentationScope = instrumentation.Scope{Attributes: attribute.NewSet(attribute.Bool("x", true))}
		},
		"event": func(s *tracetest.SpanStub) {
			s.Events = []sdktrace.Event{
				{Name: "exception", Time: spantest.Epoch, Attributes: []attribute.KeyValue{attribute.String("m", "x")}, DroppedAttributeCount: 9},
				{},
			}
		},
		"link": func(s *tracetest.SpanStub) {
			s.Links = []sdktrace.Link{
				{SpanContext: remote, Attributes: []attribute.KeyValue{attribute.Int("n", 1)}, DroppedAttributeCount: 300},
				{},
			}
		},
		"values": func(s *tracetest.SpanStub) {
			s.Attributes = append(s.Attributes,
				attribute.KeyValue{Key: "empty"}, attribute.KeyValue{}, attribute.String("", ""), attribute.Bool("f", false),
				attribute.Int64("min", math.MinInt64), attribute.Int64("zero", 0), attribute.Float64("-0", math.Copysign(0, -1)),
				attribute.Float64("nan", math.NaN()), attribute.Float64("inf", math.Inf(1)), attribute.Float64("-inf", math.Inf(-1)),
				attribute.ByteSlice("bytes", []byte{0, 255, 'x'}), attribute.ByteSlice("no bytes", nil))
		},
		"lists": func(s *tracetest.SpanStub) {
			s.Attributes = append(s.Attributes,
				attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("none", nil),
				attribute.Float64Slice("floats", []float64{0, math.NaN(), math.Inf(-1)}),
				attribute.StringSlice("texts", []string{"", "a\"b", "bad\xff"}),
				attribute.Int64Slice("long", make([]int64, 1000)),
				attribute.Slice("mixed", attribute.Value{}, attribute.SliceValue(), attribute.MapValue()),
				attribute.KeyValue{Key: "deep", Value: deep})
		},
		"maps": func(s *tracetest.SpanStub) {
			s.Attributes = append(s.Attributes, attribute.Map("no entries"),
				attribute.Map("m", attribute.Int("b", 1), attribute.Int("a", 2), attribute.Int("a", 3),
					attribute.Map("c", attribute.String("", ""), attribute.KeyValue{Key: "e"})))
		},
		"bad UTF-8": func(s *tracetest.SpanStub) {
			s.Name, s.Status.Description = "a\xffb\xc3", "\xed\xa0\x80"
			s.Attributes = append(s.Attributes, attribute.String("k\xfe", "v\xfe\xfe"))
			s.InstrumentationScope.Name = "s\xff"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := spantest.Operation(0)
			change(&s)
			// The second time lists come from the cache.
			checkOTLP(t, tracetest.SpanStubs{s, s}.Snapshots())
		})
	}
}

func TestOTLPMatchesOracleRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range cases.Count(t, 15, 300) {
		spans := &spantest.Random{Data: make([]byte, 4096)}
		for i := range spans.Data {
			spans.Data[i] = byte(r.Uint32())
		}
		var stubs tracetest.SpanStubs
		for range 1 + r.IntN(8) {
			stubs = append(stubs, spans.Operation())
		}
		checkOTLP(t, stubs.Snapshots())
	}
}

// Spans of several scopes end in any order; the groups are written in the order
// in which they were first seen.
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

// Values that are equal and not the same must not be taken for one another.
func TestOTLPNegativeZero(t *testing.T) {
	zero, negative := spantest.Operation(0), spantest.Operation(0)
	zero.Attributes = append(zero.Attributes, attribute.Float64Slice("x", []float64{0}), attribute.Slice("y", attribute.Float64Value(0)))
	minus := math.Copysign(0, -1)
	negative.Attributes = append(negative.Attributes,
		attribute.Float64Slice("x", []float64{minus}), attribute.Slice("y", attribute.Float64Value(minus)))
	checkOTLP(t, tracetest.SpanStubs{zero, negative, zero}.Snapshots())
}
