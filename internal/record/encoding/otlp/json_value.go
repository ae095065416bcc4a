package otlp

import (
	"encoding/base64"
	"math"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/text/lexer"
)

// attributes appends a list of KeyValues unless attrs is empty. key is the text in front of the first element.
func (c *jsonCodec) attributes(dst []byte, key string, attrs []attribute.KeyValue, depth int) []byte {
	if len(attrs) == 0 {
		return dst
	}
	return closeList(c.keyValues(append(dst, key...), attrs, depth))
}

func (c *jsonCodec) keyValues(dst []byte, attrs []attribute.KeyValue, depth int) []byte {
	for i := range attrs {
		dst = append(dst, `{"key":`...)
		dst = lexer.AppendString(dst, string(attrs[i].Key))
		dst = append(dst, `,"value":`...)
		dst = c.value(dst, attrs[i].Value, depth)
		dst = append(dst, '}', ',')
	}
	return dst
}

func (c *jsonCodec) spanAttributes(dst []byte, attrs []attribute.KeyValue) []byte {
	return c.keyValues(dst, attrs, 0)
}

func (c *jsonCodec) value(dst []byte, v attribute.Value, depth int) []byte {
	switch v.Type() {
	case attribute.STRING:
		return appendJSONString(dst, v.AsString())
	case attribute.BOOL:
		return append(strconv.AppendBool(append(dst, `{"boolValue":`...), v.AsBool()), '}')
	case attribute.INT64:
		return append(strconv.AppendInt(append(dst, `{"intValue":"`...), v.AsInt64(), 10), '"', '}')
	case attribute.FLOAT64:
		c.floats = true
		return appendJSONDouble(dst, v.AsFloat64())
	case attribute.EMPTY:
		return append(dst, `{}`...)
	}
	return c.composite(dst, v, depth)
}

func (c *jsonCodec) composite(dst []byte, v attribute.Value, depth int) []byte {
	if depth > span.MaxValueDepth {
		return append(dst, `{}`...)
	}
	switch v.Type() {
	case attribute.BYTESLICE:
		dst = append(dst, `{"bytesValue":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, v.AsByteSlice())
		return append(dst, `"}`...)
	case attribute.MAP:
		dst = append(dst, `{"kvlistValue":{`...)
		dst = c.attributes(dst, `"values":[`, v.AsMap(), depth+1)
		return append(dst, `}}`...)
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.SLICE:
		dst = append(dst, `{"arrayValue":{"values":[`...)
		span.EachElement(v, func(e attribute.Value) { dst = append(c.value(dst, e, depth+1), ',') })
		return append(closeList(dst), `}}`...)
	}
	return appendJSONString(dst, "INVALID") // a type of a later SDK
}

func appendJSONString(dst []byte, s string) []byte {
	return append(lexer.AppendString(append(dst, `{"stringValue":`...), s), '}')
}

// appendJSONDouble appends a number, as a string if it is NaN or infinite.
func appendJSONDouble(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return lexer.AppendDouble(dst, v) // has the same form
	}
	return append(lexer.AppendFloat(append(dst, `{"doubleValue":`...), v), '}')
}
