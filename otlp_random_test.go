package optrace_test

import (
	"encoding/binary"
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/tensorconv"
)

// entropy makes decisions out of bytes; when they are used up, the same one
// every time.
type entropy struct{ bytes []byte }

func (e *entropy) below(n int) int {
	if len(e.bytes) == 0 {
		return 0
	}
	b := e.bytes[0]
	e.bytes = e.bytes[1:]
	return int(b) % n
}

func (e *entropy) uint64() uint64 {
	var b [8]byte
	e.bytes = e.bytes[copy(b[:], e.bytes):]
	return binary.LittleEndian.Uint64(b[:])
}

func pick[T any](e *entropy, from ...T) T { return from[e.below(len(from))] }

func (e *entropy) text() string {
	return pick(e, "", "a", "http.route", "größe 語", "bad\xff\xc3utf8", "\x00\t\"\\\n\u2028</script>",
		strings.Repeat("x", 127), strings.Repeat("y", 128), strings.Repeat("ab", 9000))
}

func (e *entropy) count() int { return pick(e, 0, 0, 1, 127, 128, -3, math.MaxInt32, math.MaxInt) }

func (e *entropy) time() time.Time {
	switch e.below(5) {
	case 0:
		return time.Time{}
	case 1:
		return time.Date(1969, 7, 20, 20, 17, 0, 0, time.UTC)
	case 2:
		return time.Unix(0, 0)
	}
	return time.Unix(0, int64(e.uint64()>>1))
}

func (e *entropy) float() float64 {
	return pick(e, 0, math.Copysign(0, -1), 0.1, 1e300, 5e-324, -1.5, 1<<60, math.NaN(), math.Inf(1), math.Inf(-1))
}

func (e *entropy) int64() int64 {
	return pick(e, 0, 1, -1, 127, 128, math.MaxInt64, math.MinInt64, int64(e.uint64()))
}

func randomList[T any](e *entropy, element func() T) []T {
	all := make([]T, pick(e, 0, 1, 2, 3, 4, 5, 6, 40))
	for i := range all {
		all[i] = element()
	}
	return all
}

func (e *entropy) value(depth int) attribute.Value {
	kinds := 12
	if depth == 0 {
		kinds = 10
	}
	switch e.below(kinds) {
	case 0:
		return attribute.Value{}
	case 1:
		return attribute.BoolValue(e.below(2) == 1)
	case 2:
		return attribute.Int64Value(e.int64())
	case 3:
		return attribute.Float64Value(e.float())
	case 4:
		return attribute.StringValue(e.text())
	case 5:
		return attribute.BoolSliceValue(randomList(e, func() bool { return e.below(2) == 1 }))
	case 6:
		return attribute.Int64SliceValue(randomList(e, e.int64))
	case 7:
		return attribute.Float64SliceValue(randomList(e, e.float))
	case 8:
		return attribute.StringSliceValue(randomList(e, e.text))
	case 9:
		return attribute.ByteSliceValue([]byte(e.text()))
	case 10:
		return attribute.SliceValue(randomList(e, func() attribute.Value { return e.value(depth - 1) })...)
	}
	return attribute.MapValue(e.attributes(depth - 1)...)
}

func (e *entropy) attributes(depth int) []attribute.KeyValue {
	all := make([]attribute.KeyValue, e.below(4))
	for i := range all {
		all[i] = attribute.KeyValue{Key: attribute.Key(e.text()), Value: e.value(depth)}
	}
	return all
}

func (e *entropy) spanContext() trace.SpanContext {
	var c trace.SpanContextConfig
	if e.below(4) > 0 {
		binary.LittleEndian.PutUint64(c.TraceID[:8], e.uint64())
		binary.LittleEndian.PutUint64(c.SpanID[:], e.uint64())
	}
	c.TraceFlags = trace.TraceFlags(e.below(256))
	c.Remote = e.below(2) == 1
	c.TraceState, _ = trace.ParseTraceState(pick(e, "", "ot=th:8", `a=1,b@c=x"y\z`, "k="+strings.Repeat("v", 200)))
	return trace.NewSpanContext(c)
}

func (e *entropy) resource() *resource.Resource {
	switch e.below(4) {
	case 0:
		return nil
	case 1:
		return resource.Empty()
	case 2:
		return serviceResource("trainer")
	}
	return resource.NewWithAttributes(pick(e, "", "https://opentelemetry.io/schemas/1.40.0"), e.attributes(2)...)
}

func (e *entropy) scope() instrumentation.Scope {
	switch e.below(3) {
	case 0:
		return instrumentation.Scope{}
	case 1:
		return instrumentation.Scope{Name: optrace.ScopeName, Version: optrace.Version}
	}
	return instrumentation.Scope{
		Name: e.text(), Version: e.text(), SchemaURL: pick(e, "", "https://opentelemetry.io/schemas/1.40.0"),
		Attributes: attribute.NewSet(e.attributes(1)...),
	}
}

// operation returns an operation with anything else that a span may have.
func (e *entropy) operation() tracetest.SpanStub {
	s := tracetest.SpanStub{
		Name: e.text(), SpanContext: e.spanContext(), Parent: e.spanContext(),
		SpanKind: trace.SpanKind(e.below(8)), StartTime: e.time(), EndTime: e.time(),
		Attributes: append([]attribute.KeyValue{tensorconv.OpName("matmul")}, e.attributes(3)...),
		Status:     sdktrace.Status{Code: codes.Code(e.below(4)), Description: e.text()},
		Resource:   e.resource(), InstrumentationScope: e.scope(),
		DroppedAttributes: e.count(), DroppedEvents: e.count(), DroppedLinks: e.count(),
	}
	for range e.below(3) {
		s.Events = append(s.Events, sdktrace.Event{
			Name: e.text(), Time: e.time(), Attributes: e.attributes(2), DroppedAttributeCount: e.count(),
		})
	}
	for range e.below(3) {
		s.Links = append(s.Links, sdktrace.Link{
			SpanContext: e.spanContext(), Attributes: e.attributes(2), DroppedAttributeCount: e.count(),
		})
	}
	return s
}
