// Package otlptest makes random messages of OTLP with the generated types, and reads and writes them in
// JSON. Only tests import it.
package otlptest

import (
	"cmp"
	"math"
	"math/rand/v2"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// RandomTraces returns random spans: resources with up to two scopes of fewer than spans spans each.
func RandomTraces(rng *rand.Rand, resources, spans int) *tracepb.TracesData {
	td := new(tracepb.TracesData)
	for range resources {
		rs := new(tracepb.ResourceSpans)
		(&filler{Rand: rng, spans: spans}).fill(rs.ProtoReflect(), "", nil)
		td.ResourceSpans = append(td.ResourceSpans, rs)
	}
	return td
}

// RandomSpan returns a random span. Most of its lists have elements of one type.
func RandomSpan(rng *rand.Rand) *tracepb.Span {
	s := new(tracepb.Span)
	(&filler{Rand: rng, alike: true}).fill(s.ProtoReflect(), "", nil)
	s.Kind = tracepb.Span_SpanKind(rng.IntN(6))
	return s
}

// filler makes random messages.
type filler struct {
	*rand.Rand
	spans int  // limit of the spans in a scope
	alike bool // most lists have elements of one type
}

// fill sets the fields of a message from randomValues, recursively. typ is the type of a value, "" for a
// random one. keys are the keys of attributes.
func (r *filler) fill(m protoreflect.Message, typ protoreflect.Name, keys []any) {
	if of, ok := randomKeys[m.Descriptor().Name()]; ok {
		keys = of
	}
	fields := m.Descriptor().Fields()
	one := cmp.Or(typ, randomTypes[r.IntN(len(randomTypes))])
	elements := protoreflect.Name("")
	if r.alike {
		elements = []protoreflect.Name{"", "int_value", "int_value", "string_value", "array_value"}[r.IntN(5)]
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		values := randomValues[f.Name()]
		length := max(1, randomLengths[f.Name()])
		switch f.Name() {
		case "key":
			values = keys
		case "spans":
			length = r.spans
		}
		switch {
		case f.ContainingOneof() != nil && f.Name() != one:
		case f.IsList():
			list := m.Mutable(f).List()
			for range r.IntN(length) {
				r.fill(list.AppendMutable().Message(), elements, keys)
			}
		case f.Message() != nil:
			r.fill(m.Mutable(f).Message(), "", keys)
		case len(values) > 0:
			m.Set(f, protoreflect.ValueOf(values[r.IntN(len(values))]))
		}
	}
}

// randomKeys are the keys of attributes by message, with and without a meaning.
var randomKeys = map[protoreflect.Name][]any{
	"Resource": {"service.name", "service.name", "tensor.rank", "extra"},
	"Span": {
		"tensor.op.name", "tensor.op.kind", "tensor.op.path", "tensor.step", "tensor.input.shapes",
		"tensor.input.dtypes",
		"tensor.output.shape", "tensor.dtype", "tensor.device.id", "tensor.stream.id", "tensor.memory.size",
		"tensor.collective.name", "tensor.collective.group.size", "tensor.rank", "tensor.input.0.shape",
		"pytorch.device.type", "pytorch.flops", "op", "output_shape", "http.route", "debug.stats", "",
	},
	"InstrumentationScope": {"backend"},
	"Event":                {"grid", "exception.message", "exception.type"},
	"Link":                 {"tensor.link.weight", "tensor.link.weight", "queue", ""},
	"KeyValueList":         {"k"},
}

// randomLengths limits the lengths of lists other than spans.
var randomLengths = map[protoreflect.Name]int{"scope_spans": 3, "attributes": 8, "events": 2, "links": 3, "values": 4}

// randomTypes are the types of values. Texts and lists are the most frequent.
var randomTypes = []protoreflect.Name{
	"string_value", "string_value", "string_value", "int_value", "int_value", "array_value", "array_value",
	"array_value", "double_value", "bool_value", "bytes_value", "kvlist_value", "",
}

var randomTexts = []any{
	"matmul", "all_reduce", "compute", "f32", "cuda:0", "2x3", "[[2,3],[3]]", "[2, 3]", "7", "", "größe",
	"a\"b\\\n\u2028", "\x00",
	`},{"traceId":"`, `"resource":{"spans":[`, `[{"resource":{"scopeSpans":[{"spans":[`, "exception", "exception",
}

const randomTime = uint64(1_795_224_124_978_150_123)

// randomValues are values of fields. Many numbers are small, so that they are valid.
var randomValues = map[protoreflect.Name][]any{
	"name": randomTexts, "string_value": randomTexts, "message": randomTexts,
	"trace_id": {[]byte{1, 15: 0xab}, []byte{2, 15: 0xab}, []byte{0xff, 15: 0xab}, []byte{0, 15: 1},
		[]byte(nil)},
	"span_id":        {[]byte{1, 7: 0xcd}, []byte{0, 7: 2}, []byte{0x80, 7: 3}, []byte{4, 7: 0}, []byte(nil)},
	"parent_span_id": {[]byte(nil), []byte{1, 2, 3, 4, 5, 6, 7, 8}},
	"flags":          {uint32(0), uint32(1), uint32(0x101), uint32(0x301)},
	"trace_state":    {"", "", "ot=th:8", "a=b,ot=th:c;rv:1", "ot=th:zz"},
	"start_time_unix_nano": {uint64(0), uint64(1), randomTime, randomTime, uint64(math.MaxInt64),
		uint64(math.MaxUint64)},
	"end_time_unix_nano": {
		uint64(0), uint64(601), randomTime, randomTime + 600, randomTime + 1<<40, randomTime - 500,
		uint64(math.MaxInt64), uint64(math.MaxUint64),
	},
	"dropped_attributes_count": {uint32(0), uint32(0), uint32(3), uint32(math.MaxUint32)},
	"dropped_links_count":      {uint32(0), uint32(0), uint32(0), uint32(1)},
	"code": {
		protoreflect.EnumNumber(0), protoreflect.EnumNumber(0), protoreflect.EnumNumber(1), protoreflect.EnumNumber(2),
	},
	"bool_value": {false, true},
	"int_value": {
		int64(0), int64(1), int64(2), int64(3), int64(7), int64(-1), int64(-2), int64(1 << 40), int64(math.MaxInt64),
		int64(math.MinInt64),
	},
	"double_value": {0.0, 2.0, 2.5, -1.0, 1e30, math.NaN(), math.Inf(1), math.Inf(-1)},
	"bytes_value":  {[]byte{0, 1, 2}, []byte{}},
}

// ShuffleProto returns a message with its fields in another order, recursively, and with unknown fields.
// Fields with the same number keep their order, because they are a list.
func ShuffleProto(rng *rand.Rand, msg []byte, of protoreflect.MessageDescriptor) (out []byte) {
	fields := make(map[protowire.Number][][]byte)
	var order []protowire.Number
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		m := protowire.ConsumeFieldValue(num, typ, msg[n:])
		field := msg[:n+m]
		if inner := of.Fields().ByNumber(num).Message(); inner != nil {
			body, _ := protowire.ConsumeBytes(msg[n:])
			field = protowire.AppendBytes(protowire.AppendTag(nil, num, typ), ShuffleProto(rng, body, inner))
		}
		fields[num] = append(fields[num], field)
		order = append(order, num)
		msg = msg[n+m:]
	}
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, num := range order {
		if rng.IntN(4) == 0 {
			out = append(out, unknownField(rng)...)
		}
		out = append(out, fields[num][0]...)
		fields[num] = fields[num][1:]
	}
	return out
}

func unknownField(rng *rand.Rand) (out []byte) {
	num := protowire.Number(100 + rng.IntN(10000))
	switch rng.IntN(5) {
	case 0:
		return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), rng.Uint64())
	case 1:
		return protowire.AppendFixed64(protowire.AppendTag(nil, num, protowire.Fixed64Type), rng.Uint64())
	case 2:
		return protowire.AppendFixed32(protowire.AppendTag(nil, num, protowire.Fixed32Type), rng.Uint32())
	case 3:
		out = protowire.AppendTag(nil, num, protowire.StartGroupType)
		out = append(out, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5)...)
		return protowire.AppendTag(out, num, protowire.EndGroupType)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), []byte("unknown"))
}
