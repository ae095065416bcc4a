// Package spantest has common helpers for tests of exporting: fixed and random finished spans, exporters that keep spans,
// stuck and faulty writers, and a reader of written files. It does not import the root package.
package spantest

import (
	"encoding/binary"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// ScopeName is the instrumentation scope of the root package's Tracer.
const ScopeName = "github.com/optrace/optrace"

// Epoch is the start of the first operation.
var Epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TraceID returns a different valid trace id for each n.
func TraceID(n int) (id trace.TraceID) {
	binary.BigEndian.PutUint64(id[:8], 0xa1b2c3d4e5f60718)
	binary.BigEndian.PutUint64(id[8:], uint64(n+1)*0x9e3779b97f4a7c15)
	return id
}

// SpanID returns a different valid span id for each n.
func SpanID(n int) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], uint64(n+1))
	return id
}

// SpanContext returns the context of a sampled span, by numbers.
func SpanContext(traceNumber, spanNumber int) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: TraceID(traceNumber), SpanID: SpanID(spanNumber), TraceFlags: trace.FlagsSampled,
	})
}

// Operation returns the i-th operation of the first trace, a matrix product of step i.
func Operation(i int) tracetest.SpanStub {
	start := Epoch.Add(time.Duration(i) * time.Millisecond)
	return tracetest.SpanStub{
		Name:        "matmul",
		SpanContext: SpanContext(0, i),
		Parent:      SpanContext(0, 1<<20),
		StartTime:   start,
		EndTime:     start.Add(125 * time.Microsecond),
		Attributes: []attribute.KeyValue{
			tensorconv.OpName("matmul"), tensorconv.DeviceID("cuda:0"), tensorconv.DType(op.F32),
			tensorconv.InputShapes([]int64{64, 784}, []int64{784, 256}), tensorconv.OutputShape(64, 256),
			tensorconv.Step(int64(i)),
		},
		Resource:             Service("trainer"),
		InstrumentationScope: instrumentation.Scope{Name: ScopeName},
	}
}

// Operations returns the first n operations of the first trace.
func Operations(n int) []sdktrace.ReadOnlySpan {
	spans := make([]sdktrace.ReadOnlySpan, n)
	for i := range spans {
		spans[i] = Operation(i).Snapshot()
	}
	return spans
}

// Request returns the span above the operations of the first trace.
func Request() tracetest.SpanStub {
	s := Operation(0)
	s.Name = "POST /generate"
	s.SpanContext = s.Parent
	s.Parent = trace.SpanContext{}
	s.Attributes = nil
	s.EndTime = s.StartTime.Add(time.Second)
	return s
}

// Service returns the resource of a service, the same pointer each time, like the spans of a provider.
func Service(name string) *resource.Resource {
	r, ok := services.Load(name)
	if !ok {
		r, _ = services.LoadOrStore(name, resource.NewSchemaless(attribute.String(attrkey.ServiceName, name)))
	}
	return r.(*resource.Resource)
}

var services sync.Map // from names to *resource.Resource
