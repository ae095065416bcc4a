package spantest

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

	"github.com/optrace/optrace/tensorconv"
)

// Random makes spans from bytes, random ones or from a fuzz target. Zeros follow the last byte; they give
// plain values.
type Random struct {
	Data []byte   // has the remaining bytes
	Keys []string // preferred keys of attributes
}

// Below returns a number from 0 to n-1, for n up to 256.
func (r *Random) Below(n int) int {
	if len(r.Data) == 0 {
		return 0
	}
	b := r.Data[0]
	r.Data = r.Data[1:]
	return int(b) % n
}

// Pick returns one of the values.
func Pick[T any](r *Random, from ...T) T { return from[r.Below(len(from))] }

// list returns up to six elements, rarely many.
func list[T any](r *Random, element func() T) []T {
	all := make([]T, Pick(r, 0, 1, 2, 3, 4, 5, 6, 40))
	for i := range all {
		all[i] = element()
	}
	return all
}

func (r *Random) uint64() uint64 {
	var b [8]byte
	r.Data = r.Data[copy(b[:], r.Data):]
	return binary.LittleEndian.Uint64(b[:])
}

func (r *Random) bool() bool { return r.Below(2) == 1 }

// Int64 returns any number, often one at a limit.
func (r *Random) Int64() int64 {
	switch r.Below(5) {
	case 0:
		return int64(r.Below(256))
	case 1:
		return -int64(r.Below(256))
	case 2:
		return math.MaxInt64 - int64(r.Below(256))
	case 3:
		return Pick[int64](r, 127, 128, math.MaxInt64, math.MinInt64)
	}
	return int64(r.uint64())
}

// Float64 returns any number, often one with several spellings. Its only NaN is math.NaN, because texts do
// not distinguish bit patterns.
func (r *Random) Float64() float64 {
	switch r.Below(3) {
	case 0:
		return float64(r.Int64())
	case 1:
		return Pick(r, math.Copysign(0, -1), 0.1, 1e300, 5e-324, -1.5, 1<<60, math.NaN(), math.Inf(1), math.Inf(-1))
	}
	if f := math.Float64frombits(r.uint64()); !math.IsNaN(f) {
		return f
	}
	return math.NaN()
}

// Text returns any text, not always UTF-8.
func (r *Random) Text() string {
	if r.bool() {
		return Pick(r, "a", "http.route", "größe 語", "bad\xff\xc3utf8", "\x00\t\"\\\n\u2028</script>",
			strings.Repeat("x", 127), strings.Repeat("y", 128), strings.Repeat("ab", 9000))
	}
	n := min(r.Below(24), len(r.Data))
	text := string(r.Data[:n])
	r.Data = r.Data[n:]
	return text
}

// Key returns one of the keys, or any text.
func (r *Random) Key() string {
	if i := r.Below(len(r.Keys) + 1); i < len(r.Keys) {
		return r.Keys[i]
	}
	return r.Text()
}

// Value returns a value with lists and maps nested up to depth.
func (r *Random) Value(depth int) attribute.Value {
	kinds := 12
	if depth == 0 {
		kinds = 10
	}
	switch r.Below(kinds) {
	case 0:
		return attribute.Int64SliceValue(list(r, r.Int64))
	case 1:
		return attribute.StringValue(r.Text())
	case 2:
		return attribute.Int64Value(r.Int64())
	case 3:
		return attribute.Float64Value(r.Float64())
	case 4:
		return attribute.BoolValue(r.bool())
	case 5:
		return attribute.Float64SliceValue(list(r, r.Float64))
	case 6:
		return attribute.StringSliceValue(list(r, r.Text))
	case 7:
		return attribute.BoolSliceValue(list(r, r.bool))
	case 8:
		return attribute.ByteSliceValue([]byte(r.Text()))
	case 9:
		return attribute.Value{}
	case 10:
		return attribute.SliceValue(list(r, func() attribute.Value { return r.Value(depth - 1) })...)
	}
	return attribute.MapValue(r.Attributes(depth - 1)...)
}

// Attributes returns attributes with values nested up to depth.
func (r *Random) Attributes(depth int) []attribute.KeyValue {
	all := make([]attribute.KeyValue, r.Below(6))
	for i := range all {
		all[i] = attribute.KeyValue{Key: attribute.Key(r.Key()), Value: r.Value(depth)}
	}
	return all
}

func (r *Random) time() time.Time {
	switch r.Below(6) {
	case 0, 1:
		return Epoch
	case 2:
		return Pick(r, time.Time{}, time.Date(1969, 7, 20, 20, 17, 0, 0, time.UTC), time.Unix(0, 0))
	case 3:
		return time.Unix(r.Int64(), r.Int64())
	}
	return time.Unix(0, int64(r.uint64()>>1))
}

// count returns a number of dropped attributes or links.
func (r *Random) count() int { return Pick(r, 0, 0, 1, 127, 128, -3, math.MaxInt32, math.MaxInt) }

func (r *Random) spanContext() trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: trace.FlagsSampled}
	switch r.Below(4) {
	case 0, 1: // of few traces
		c.TraceID = TraceID(r.Below(3))
		c.SpanID = SpanID(r.Below(3))
	case 2:
		binary.LittleEndian.PutUint64(c.TraceID[:8], r.uint64())
		binary.LittleEndian.PutUint64(c.SpanID[:], r.uint64())
	}
	if r.bool() {
		c.TraceFlags = trace.TraceFlags(r.Below(256))
		c.Remote = r.bool()
		c.TraceState, _ = trace.ParseTraceState(
			Pick(r, "", "ot=th:8", `a=1,b@c=x"y\z`, "k="+strings.Repeat("v", 200), "ot=th:"+r.Text()))
	}
	return trace.NewSpanContext(c)
}

func (r *Random) schema() string {
	return Pick(r, "", "https://opentelemetry.io/schemas/1.40.0")
}

func (r *Random) resource() *resource.Resource {
	switch r.Below(4) {
	case 0:
		return Service("trainer")
	case 1:
		return resource.Empty()
	case 2:
		return nil
	}
	return resource.NewWithAttributes(r.schema(), r.Attributes(2)...)
}

func (r *Random) scope() instrumentation.Scope {
	switch r.Below(3) {
	case 0:
		return instrumentation.Scope{Name: ScopeName, Version: "0.1.0"}
	case 1:
		return instrumentation.Scope{}
	}
	return instrumentation.Scope{
		Name: r.Text(), Version: r.Text(), SchemaURL: r.schema(), Attributes: attribute.NewSet(r.Attributes(1)...),
	}
}

// Span returns a span with arbitrary fields. Its attributes may make it an operation.
func (r *Random) Span() tracetest.SpanStub {
	s := tracetest.SpanStub{
		Name: r.Text(), Attributes: r.Attributes(6), SpanContext: r.spanContext(), Parent: r.spanContext(),
		SpanKind: trace.SpanKind(r.Below(8)), StartTime: r.time(), EndTime: r.time(),
		Status:   sdktrace.Status{Code: codes.Code(r.Below(4)), Description: r.Text()},
		Resource: r.resource(), InstrumentationScope: r.scope(),
		DroppedAttributes: r.count(), DroppedEvents: r.count(), DroppedLinks: r.count(),
	}
	for range r.Below(3) {
		s.Events = append(s.Events, sdktrace.Event{
			Name: r.Text(), Time: r.time(), Attributes: r.Attributes(2), DroppedAttributeCount: r.count(),
		})
	}
	for range r.Below(3) {
		s.Links = append(s.Links, sdktrace.Link{
			SpanContext: r.spanContext(), Attributes: r.Attributes(2), DroppedAttributeCount: r.count(),
		})
	}
	return s
}

// Operation returns a span like Span that is an operation.
func (r *Random) Operation() tracetest.SpanStub {
	s := r.Span()
	s.Attributes = append([]attribute.KeyValue{tensorconv.OpName("matmul")}, s.Attributes...)
	return s
}
