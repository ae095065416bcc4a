package otlp_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/internal/record/encoding/otlp"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

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
