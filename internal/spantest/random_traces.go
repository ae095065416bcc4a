package spantest

import (
	"math"
	"math/rand/v2"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// randomKeys are the keys of random attributes: those that mean something, and
// others.
var randomKeys = []string{
	"tensor.op.name", "tensor.op.kind", "tensor.op.path", "tensor.step", "tensor.input.shapes", "tensor.input.dtypes",
	"tensor.output.shape", "tensor.dtype", "tensor.device.id", "tensor.stream.id", "tensor.memory.size",
	"tensor.collective.name", "tensor.collective.group.size", "tensor.rank", "tensor.input.0.shape",
	"pytorch.device.type", "pytorch.flops", "op", "output_shape", "http.route", "debug.stats", "",
}

var randomTexts = []string{
	"matmul", "all_reduce", "compute", "f32", "cuda:0", "2x3", "[[2,3],[3]]", "[2, 3]", "7", "", "größe", "a\"b\\\n\u2028", "\x00",
	`},{"traceId":"`, `"resource":{"spans":[`, `[{"resource":{"scopeSpans":[{"spans":[`,
}

// RandomTraces returns spans of every sort: resources with up to two scopes, each of which has fewer spans than a number.
func RandomTraces(rng *rand.Rand, resources, spans int) *tracepb.TracesData {
	td := new(tracepb.TracesData)
	for range resources {
		rs := &tracepb.ResourceSpans{Resource: new(resourcepb.Resource)}
		td.ResourceSpans = append(td.ResourceSpans, rs)
		if rng.IntN(4) > 0 {
			rs.Resource.Attributes = []*commonpb.KeyValue{
				{Key: "service.name", Value: textValue(pickOf(rng, randomTexts))},
				{Key: "tensor.rank", Value: randomValue(rng, 0)}, {Key: "extra", Value: randomValue(rng, 0)},
			}
		}
		for range rng.IntN(3) {
			ss := &tracepb.ScopeSpans{Scope: new(commonpb.InstrumentationScope)}
			rs.ScopeSpans = append(rs.ScopeSpans, ss)
			if rng.IntN(4) > 0 {
				ss.Scope.Name = pickOf(rng, randomTexts)
				ss.Scope.Attributes = []*commonpb.KeyValue{{Key: "backend", Value: textValue("cpu")}}
			}
			for range rng.IntN(spans) {
				ss.Spans = append(ss.Spans, randomSpan(rng))
			}
		}
	}
	return td
}

func pickOf[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func randomSpan(rng *rand.Rand) *tracepb.Span {
	s := &tracepb.Span{Status: new(tracepb.Status)}
	if rng.IntN(8) > 0 {
		s.TraceId = []byte{byte(rng.IntN(256)), 15: 0xab}
		s.SpanId = []byte{byte(rng.IntN(256)), 7: 0xcd}
	}
	if rng.IntN(2) == 0 {
		s.ParentSpanId = []byte{1, 2, 3, 4, 5, 6, 7, byte(rng.IntN(256))}
	}
	s.Name = pickOf(rng, randomTexts)
	s.Flags = pickOf(rng, []uint32{0, 1, 0x101, 0x301})
	s.TraceState = pickOf(rng, []string{"", "", "ot=th:8", "a=b,ot=th:c;rv:1", "ot=th:zz"})
	s.StartTimeUnixNano = pickOf(rng, []uint64{0, 1, 1795224124978150123, math.MaxInt64, math.MaxUint64})
	s.EndTimeUnixNano = s.StartTimeUnixNano + pickOf(rng, []uint64{0, 600, 1 << 40, math.MaxUint64 - 500})
	s.DroppedAttributesCount = pickOf(rng, []uint32{0, 0, 3, math.MaxUint32})
	s.Attributes = randomAttributes(rng, rng.IntN(8), randomKeys)
	if rng.IntN(4) == 0 {
		s.Status.Code = pickOf(rng, []tracepb.Status_StatusCode{tracepb.Status_STATUS_CODE_OK, tracepb.Status_STATUS_CODE_ERROR})
		s.Status.Message = pickOf(rng, randomTexts)
	}
	if rng.IntN(4) == 0 {
		s.Events = []*tracepb.Span_Event{{Name: "launch", Attributes: randomAttributes(rng, 1, []string{"grid"})}}
	}
	for range pickOf(rng, []int{0, 0, 1, 3}) {
		s.Links = append(s.Links, randomLink(rng))
	}
	s.DroppedLinksCount = pickOf(rng, []uint32{0, 0, 0, 1})
	return s
}

func randomLink(rng *rand.Rand) *tracepb.Span_Link {
	l := new(tracepb.Span_Link)
	if rng.IntN(8) > 0 {
		l.TraceId = []byte{byte(rng.IntN(256)), 15: 0xab}
	}
	l.SpanId = []byte{byte(rng.IntN(256)), 7: byte(rng.IntN(4))}
	if rng.IntN(3) == 0 {
		l.TraceState = "a=b"
	}
	l.Attributes = randomAttributes(rng, rng.IntN(3), []string{"tensor.link.weight", "tensor.link.weight", "queue", ""})
	l.Flags = pickOf(rng, []uint32{0, 0x101})
	return l
}

func randomAttributes(rng *rand.Rand, n int, keys []string) (attrs []*commonpb.KeyValue) {
	for range n {
		attrs = append(attrs, &commonpb.KeyValue{Key: pickOf(rng, keys), Value: randomValue(rng, 0)})
	}
	return attrs
}

func textValue(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
}

func intValue(i int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: i}}
}

// randomValue returns a value of any type. Numbers are often small, and lists often hold
// numbers, so that they mean something.
func randomValue(rng *rand.Rand, depth int) *commonpb.AnyValue {
	switch rng.IntN(12) {
	case 0, 1, 2:
		return textValue(pickOf(rng, randomTexts))
	case 3, 4:
		return intValue(pickOf(rng, []int64{0, 1, 7, -1, -2, 1 << 40, math.MaxInt64, math.MinInt64}))
	case 5:
		f := pickOf(rng, []float64{0, 2, 2.5, -1, 1e30, math.NaN(), math.Inf(1), math.Inf(-1)})
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: f}}
	case 6:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: rng.IntN(2) == 0}}
	case 7:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: []byte{0, 1, byte(rng.IntN(256))}}}
	case 8, 9, 10:
		list := new(commonpb.ArrayValue)
		for range rng.IntN(4) {
			v := intValue(int64(rng.IntN(5)))
			if depth < 3 {
				v = randomValue(rng, depth+1)
			}
			list.Values = append(list.Values, v)
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
	}
	if depth == 3 {
		return new(commonpb.AnyValue)
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{
		Values: []*commonpb.KeyValue{{Key: "k", Value: randomValue(rng, depth+1)}},
	}}}
}
