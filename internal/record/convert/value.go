package convert

import (
	"encoding/base64"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// maxListDepth is the depth to which nested lists are read. Shapes need two levels.
const maxListDepth = 4

func attrOf(kv attribute.KeyValue) op.Attr {
	a := op.Attr{Key: string(kv.Key)}
	switch v := kv.Value; v.Type() {
	case attribute.STRING:
		a.Value = v.AsString()
	case attribute.INT64:
		a.Value = strconv.FormatInt(v.AsInt64(), 10)
		a.Type = op.AttrInt
	case attribute.FLOAT64:
		return opmodel.FloatAttr(a.Key, v.AsFloat64())
	case attribute.BOOL:
		a.Value = strconv.FormatBool(v.AsBool())
		a.Type = op.AttrBool
	case attribute.BYTESLICE:
		a.Value = base64.StdEncoding.EncodeToString(v.AsByteSlice())
		a.Type = op.AttrBytes
	default:
		a.Value = string(appendJSON(nil, v, 0))
		a.Type = op.AttrJSON
	}
	return a
}

// appendJSON appends a value as JSON in the form of op.AttrJSON. Values nested too deep become null.
func appendJSON(dst []byte, v attribute.Value, depth int) []byte {
	switch v.Type() {
	case attribute.STRING:
		return lexer.AppendString(dst, v.AsString())
	case attribute.INT64:
		return strconv.AppendInt(dst, v.AsInt64(), 10)
	case attribute.FLOAT64:
		return lexer.AppendDouble(dst, v.AsFloat64())
	case attribute.BOOL:
		return strconv.AppendBool(dst, v.AsBool())
	case attribute.BYTESLICE:
		return lexer.AppendBytes(dst, base64.StdEncoding.EncodeToString(v.AsByteSlice()))
	}
	if depth == maxListDepth {
		return append(dst, "null"...)
	}
	switch v.Type() {
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.SLICE:
		dst = append(dst, '[')
		start := len(dst)
		span.EachElement(v, func(e attribute.Value) {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, e, depth+1)
		})
		return append(dst, ']')
	case attribute.MAP:
		dst = append(dst, '{')
		for i, kv := range v.AsMap() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(lexer.AppendString(dst, string(kv.Key)), ':')
			dst = appendJSON(dst, kv.Value, depth+1)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// areIntLists reports whether v is a list of lists of integers, such as shapes, and collects their numbers.
func (c *Converter) areIntLists(v attribute.Value) bool {
	if v.Type() != attribute.SLICE {
		return false
	}
	c.numbers = c.numbers[:0]
	c.ends = c.ends[:0]
	for _, e := range v.AsSlice() {
		if e.Type() != attribute.INT64SLICE {
			return false
		}
		c.numbers = append(c.numbers, e.AsInt64Slice()...)
		c.ends = append(c.ends, len(c.numbers))
	}
	return true
}
