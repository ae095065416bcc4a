package otlp

import (
	"bytes"
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// attributes encodes attributes. Its fields are memory.
type attributes struct {
	lex  jsontext.Lexer
	text []byte // of a value
}

// appendMember appends a list of attributes as a member, or nothing where there are none.
func (l *attributes) appendMember(dst []byte, attrs []op.Attr) []byte {
	if len(attrs) == 0 {
		return dst
	}
	return l.appendList(append(dst, ','), attrs)
}

// appendList appends a list of attributes, each in its type.
func (l *attributes) appendList(dst []byte, attrs []op.Attr) []byte {
	dst = append(dst, `"attributes":[`...)
	for i := range attrs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(append(dst, `{"key":`...), attrs[i].Key)
		dst = append(l.value(append(dst, `,"value":`...), &attrs[i]), '}')
	}
	return append(dst, ']')
}

// value appends the value of an attribute as an AnyValue. A value that is none of its
// type is text.
func (l *attributes) value(dst []byte, a *op.Attr) []byte {
	if a.Type == op.AttrText { // most are
		return append(jsontext.AppendString(append(dst, `{"stringValue":`...), a.Value), '}')
	}
	l.text = a.AppendJSONValue(l.text[:0])
	l.lex.Reset(l.text)
	return l.json(dst)
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
	if math.IsInf(f, 0) {
		return jsontext.AppendDouble(dst, f) // has the form of OTLP
	}
	return append(jsontext.AppendDouble(append(dst, `{"doubleValue":`...), f), '}')
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
