package otlp

import (
	"bytes"
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// attr appends an attribute in its type.
func (l *attributes) attr(a *op.Attr) {
	l.key(a.Key)
	l.buf = append(l.value(l.buf, a), "},"...)
}

// list appends attributes.
func (l *attributes) list(attrs []op.Attr) {
	for i := range attrs {
		l.attr(&attrs[i])
	}
}

// value appends the value of an attribute as an AnyValue. A value that is none of its
// type is text.
func (l *attributes) value(dst []byte, a *op.Attr) []byte {
	switch a.Type {
	case op.AttrText:
		return append(jsontext.AppendString(append(dst, `{"stringValue":`...), a.Value), '}')
	case op.AttrFloat:
		if f, err := strconv.ParseFloat(a.Value, 64); err == nil {
			return appendDouble(dst, f)
		}
	}
	l.text = a.AppendJSONValue(l.text[:0])
	l.lex.Reset(l.text)
	return l.json(dst)
}

// appendDouble appends a floating-point number as an AnyValue.
func appendDouble(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return jsontext.AppendDouble(dst, f) // has the form of OTLP
	}
	return append(jsontext.AppendDouble(append(dst, `{"doubleValue":`...), f), '}')
}

// json appends the value that comes next in the lexer, as op.AttrJSON describes it, as
// an AnyValue.
func (l *attributes) json(dst []byte) []byte {
	x := &l.lex
	switch x.Peek() {
	case '"':
		return append(jsontext.AppendString(append(dst, `{"stringValue":`...), string(x.Str())), '}')
	case 't', 'f':
		return append(strconv.AppendBool(append(dst, `{"boolValue":`...), x.Bool()), '}')
	case 'n':
		x.Null()
		return append(dst, "{}"...)
	case '[':
		dst = append(dst, `{"arrayValue":{"values":[`...)
		i := 0
		for x.Array(); x.More(); i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = l.json(dst)
		}
		return append(dst, "]}}"...)
	case '{':
		return l.object(dst)
	}
	number := x.Number()
	if n, ok := jsontext.ParseInt(number); ok && !bytes.ContainsAny(number, ".eE") {
		return append(strconv.AppendInt(append(dst, `{"intValue":"`...), n, 10), `"}`...)
	}
	f, _ := strconv.ParseFloat(string(number), 64)
	return appendDouble(dst, f)
}

// object appends a map, or what stands for bytes or a number that JSON does not have.
// That has the form of OTLP.
func (l *attributes) object(dst []byte) []byte {
	x := &l.lex
	m := x.Mark()
	raw := x.Raw()
	if jsontext.IsScalar(raw) {
		return append(dst, raw...)
	}
	x.Rewind(m)
	dst = append(dst, `{"kvlistValue":{"values":[`...)
	i := 0
	for x.Object(); x.More(); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(append(dst, `{"key":`...), string(x.Key()))
		dst = append(l.json(append(dst, `,"value":`...)), '}')
	}
	return append(dst, "]}}"...)
}
