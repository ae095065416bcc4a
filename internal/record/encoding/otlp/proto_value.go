package otlp

import (
	"encoding/binary"
	"math"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/text/protobuf"
)

func (c *protoCodec) attributes(dst []byte, field int, attrs []attribute.KeyValue, depth int) []byte {
	for i := range attrs {
		var start int
		dst, start = protobuf.Begin(dst, field, 1)
		dst = protobuf.AppendOptionalText(dst, protobuf.KeyValueKey, string(attrs[i].Key))
		dst = c.value(dst, protobuf.KeyValueValue, attrs[i].Value, depth)
		dst = protobuf.End(dst, start, 1)
	}
	return dst
}

// value appends a field with v as an AnyValue. A zero value is written too: its field states the type.
func (c *protoCodec) value(dst []byte, field int, v attribute.Value, depth int) []byte {
	dst, start := protobuf.Begin(dst, field, 1)
	switch v.Type() {
	case attribute.EMPTY:
	case attribute.STRING:
		dst = protobuf.AppendText(dst, protobuf.AnyString, v.AsString())
	case attribute.BOOL:
		dst = protobuf.AppendTag(dst, protobuf.AnyBool, protobuf.Varint)
		if v.AsBool() {
			dst = append(dst, 1)
		} else {
			dst = append(dst, 0)
		}
	case attribute.INT64:
		dst = protobuf.AppendVarint(protobuf.AppendTag(dst, protobuf.AnyInt, protobuf.Varint), uint64(v.AsInt64()))
	case attribute.FLOAT64:
		c.floats = true
		dst = protobuf.AppendTag(dst, protobuf.AnyDouble, protobuf.Fixed64)
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.AsFloat64()))
	default:
		dst = c.composite(dst, v, depth)
	}
	return protobuf.End(dst, start, 1)
}

func (c *protoCodec) composite(dst []byte, v attribute.Value, depth int) []byte {
	if depth > span.MaxValueDepth {
		return dst
	}
	switch v.Type() {
	case attribute.BYTESLICE:
		return protobuf.AppendBytes(dst, protobuf.AnyBytes, v.AsByteSlice())
	case attribute.MAP:
		dst, start := protobuf.Begin(dst, protobuf.AnyMap, 1)
		dst = c.attributes(dst, protobuf.ListValues, v.AsMap(), depth+1)
		return protobuf.End(dst, start, 1)
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.SLICE:
		dst, start := protobuf.Begin(dst, protobuf.AnyArray, 1)
		span.EachElement(v, func(e attribute.Value) { dst = c.value(dst, protobuf.ListValues, e, depth+1) })
		return protobuf.End(dst, start, 1)
	}
	return protobuf.AppendText(dst, protobuf.AnyString, "INVALID") // a type of a later SDK
}
