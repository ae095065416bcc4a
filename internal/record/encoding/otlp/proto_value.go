package otlp

import (
	"encoding/binary"
	"math"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/span"
)

// The fields of OTLP's KeyValue and AnyValue, and of ArrayValue and KeyValueList.
const (
	keyValueKey   = 1
	keyValueValue = 2

	anyString = 1
	anyBool   = 2
	anyInt    = 3
	anyDouble = 4
	anyArray  = 5
	anyKvlist = 6
	anyBytes  = 7

	listValues = 1
)

func (c *protoCodec) attributes(dst []byte, field int, attrs []attribute.KeyValue, depth int) []byte {
	for i := range attrs {
		var start int
		dst, start = beginMessage(dst, field, 1)
		dst = appendOptionalText(dst, keyValueKey, string(attrs[i].Key))
		dst = c.value(dst, keyValueValue, attrs[i].Value, depth)
		dst = endMessage(dst, start, 1)
	}
	return dst
}

// value appends a field with v as an AnyValue. A zero value is written too: its field states the type.
func (c *protoCodec) value(dst []byte, field int, v attribute.Value, depth int) []byte {
	dst, start := beginMessage(dst, field, 1)
	switch v.Type() {
	case attribute.EMPTY:
	case attribute.STRING:
		dst = appendTextField(dst, anyString, v.AsString())
	case attribute.BOOL:
		dst = appendTag(dst, anyBool, wireVarint)
		if v.AsBool() {
			dst = append(dst, 1)
		} else {
			dst = append(dst, 0)
		}
	case attribute.INT64:
		dst = appendVarint(appendTag(dst, anyInt, wireVarint), uint64(v.AsInt64()))
	case attribute.FLOAT64:
		c.floats = true
		dst = binary.LittleEndian.AppendUint64(appendTag(dst, anyDouble, wireFixed64), math.Float64bits(v.AsFloat64()))
	default:
		dst = c.composite(dst, v, depth)
	}
	return endMessage(dst, start, 1)
}

func (c *protoCodec) composite(dst []byte, v attribute.Value, depth int) []byte {
	if depth > span.MaxValueDepth {
		return dst
	}
	switch v.Type() {
	case attribute.BYTESLICE:
		return appendBytesField(dst, anyBytes, v.AsByteSlice())
	case attribute.MAP:
		dst, start := beginMessage(dst, anyKvlist, 1)
		dst = c.attributes(dst, listValues, v.AsMap(), depth+1)
		return endMessage(dst, start, 1)
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.SLICE:
		dst, start := beginMessage(dst, anyArray, 1)
		span.EachElement(v, func(e attribute.Value) { dst = c.value(dst, listValues, e, depth+1) })
		return endMessage(dst, start, 1)
	}
	return appendTextField(dst, anyString, "INVALID") // a type of a later SDK
}
