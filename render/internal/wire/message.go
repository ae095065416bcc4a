// Package wire writes messages in protobuf and in OTLP's JSON, without the modules of their generated types.
package wire

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// Message is a message. OTLP's generated types exist in two modules. One program cannot have both, and may have either.
type Message []Field

// Field is a field of a message. A value of 0 and an empty value are left out, except for messages and the elements of
// lists.
type Field struct {
	// Number is the field's key in protobuf, Name its key in JSON. Each encoding needs only its own.
	Number int
	Name   string
	// Value is a bool, an int32, a uint32, an int64, a Fixed64, a float64, a string, a Text, a []byte, an ID, a
	// Message, a list of int32, int64, Fixed64, string or Message, an Ints, an Attributes, an Encoded or an Always.
	Value any
}

// F returns a field.
func F(number int, name string, value any) Field { return Field{number, name, value} }

// Fixed64 is a number of eight bytes in protobuf.
type Fixed64 int64

// Ints is a list of integers. Protobuf packs more than two, the shorter form. The elements of a shorter list are never
// 0.
type Ints []int64

// Encoded is all fields of one number, in protobuf.
type Encoded string

// ID is bytes with hexadecimal digits in JSON.
type ID []byte

// Text is a string. An empty one is written too.
type Text string

// Always is another value. 0 and an empty one are written too.
type Always struct{ Of any }

// AppendProto appends the message in protobuf.
func (m Message) AppendProto(dst []byte) []byte {
	for i := range m {
		dst = appendProto(dst, m[i].Number, m[i].Value, false)
	}
	return dst
}

func appendProto(dst []byte, n int, v any, always bool) []byte {
	switch v := v.(type) {
	case Always:
		return appendProto(dst, n, v.Of, true)
	case bool:
		return appendVarint(dst, n, number(v), always)
	case int32:
		return appendVarint(dst, n, uint64(v), always)
	case int64:
		return appendVarint(dst, n, uint64(v), always)
	case Fixed64:
		return appendFixed(dst, n, uint64(v), always)
	case float64:
		return appendFixed(dst, n, math.Float64bits(v), always)
	case string:
		return appendBytes(dst, n, v, always)
	case Text:
		return appendBytes(dst, n, v, true)
	case ID:
		return appendBytes(dst, n, v, always)
	case []byte:
		return appendBytes(dst, n, v, always)
	case Message:
		return appendMessage(dst, n, v)
	case []Message:
		for _, one := range v {
			dst = appendMessage(dst, n, one)
		}
	case []string:
		for _, one := range v {
			dst = appendBytes(dst, n, one, true)
		}
	case Attributes:
		for i := range v {
			dst = appendMessage(dst, n, keyValue(v[i].Key, valueOf(&v[i])))
		}
	case Encoded:
		return append(dst, v...)
	case []Fixed64:
		for _, one := range v {
			dst = appendFixed(dst, n, uint64(one), true)
		}
	case []int32:
		return appendPacked(dst, n, v)
	case []int64:
		return appendPacked(dst, n, v)
	case Ints:
		if len(v) > 2 {
			return appendPacked(dst, n, v)
		}
		for _, one := range v {
			dst = appendVarint(dst, n, uint64(one), false)
		}
	}
	return dst
}

// number returns a bool as protobuf has it.
func number(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

func appendVarint(dst []byte, n int, v uint64, always bool) []byte {
	if v == 0 && always {
		return append(protobuf.AppendTag(dst, n, protobuf.Varint), 0)
	}
	return protobuf.AppendUint(dst, n, v)
}

func appendFixed(dst []byte, n int, v uint64, always bool) []byte {
	if v == 0 && always {
		return append(protobuf.AppendTag(dst, n, protobuf.Fixed64), make([]byte, 8)...)
	}
	return protobuf.AppendFixed64(dst, n, v)
}

func appendBytes[T ~string | ~[]byte](dst []byte, n int, v T, always bool) []byte {
	if len(v) == 0 && !always {
		return dst
	}
	return append(protobuf.AppendHead(dst, n, len(v)), v...)
}

func appendMessage(dst []byte, n int, m Message) []byte {
	dst, start := protobuf.Begin(dst, n, 1)
	return protobuf.End(m.AppendProto(dst), start, 1)
}

func appendPacked[T int32 | int64](dst []byte, n int, list []T) []byte {
	if len(list) == 0 {
		return dst
	}
	dst, start := protobuf.Begin(dst, n, 1)
	for _, v := range list {
		dst = protobuf.AppendVarint(dst, uint64(v))
	}
	return protobuf.End(dst, start, 1)
}

// AppendJSON appends the message in JSON.
func (m Message) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	for i := range m {
		before := len(dst)
		if before > start {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, m[i].Name...)
		dst = append(dst, `":`...)
		value := len(dst)
		if dst = appendJSON(dst, m[i].Value, false); len(dst) == value {
			dst = dst[:before]
		}
	}
	return append(dst, '}')
}

// appendJSON appends the value of a field unless it is left out. Numbers of 64 bits are text.
func appendJSON(dst []byte, v any, always bool) []byte {
	switch v := v.(type) {
	case Always:
		return appendJSON(dst, v.Of, true)
	case bool:
		if v || always {
			return strconv.AppendBool(dst, v)
		}
	case int32:
		if v != 0 || always {
			return strconv.AppendInt(dst, int64(v), 10)
		}
	case uint32:
		if v != 0 || always {
			return strconv.AppendUint(dst, uint64(v), 10)
		}
	case int64:
		if v != 0 || always {
			return append(strconv.AppendInt(append(dst, '"'), v, 10), '"')
		}
	case Fixed64:
		return appendJSON(dst, int64(v), always)
	case float64:
		switch {
		case math.IsNaN(v):
			return append(dst, `"NaN"`...)
		case math.IsInf(v, 1):
			return append(dst, `"Infinity"`...)
		case math.IsInf(v, -1):
			return append(dst, `"-Infinity"`...)
		case v != 0 || always:
			return scalar.AppendDouble(dst, v)
		}
	case string:
		if v != "" || always {
			return scalar.AppendString(dst, v)
		}
	case Text:
		return scalar.AppendString(dst, string(v))
	case ID:
		if len(v) > 0 || always {
			return append(scalar.AppendHex(append(dst, '"'), v), '"')
		}
	case []byte:
		if len(v) > 0 || always {
			return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v), '"')
		}
	case Message:
		return v.AppendJSON(dst)
	case []Message:
		return appendList(dst, v, always, func(dst []byte, m Message) []byte { return m.AppendJSON(dst) })
	case []string:
		return appendList(dst, v, always, scalar.AppendString)
	case []int32:
		return appendList(dst, v, always, func(dst []byte, n int32) []byte { return appendJSON(dst, n, true) })
	case []int64:
		return appendList(dst, v, always, func(dst []byte, n int64) []byte { return appendJSON(dst, n, true) })
	case Attributes:
		return appendList(dst, v, always, appendAttribute)
	}
	return dst
}

func appendList[T any](dst []byte, list []T, always bool, element func([]byte, T) []byte) []byte {
	if len(list) == 0 && !always {
		return dst
	}
	return scalar.AppendList(dst, list, element)
}

// Attributes are attributes with their types, as a list of KeyValues.
type Attributes []op.Attr

func appendAttribute(dst []byte, a op.Attr) []byte {
	dst = scalar.AppendString(append(dst, `{"key":`...), a.Key)
	return append(valueOf(&a).AppendJSON(append(dst, `,"value":`...)), '}')
}

func keyValue(key string, value Message) Message {
	return Message{{1, "key", Text(key)}, {2, "value", value}}
}

// TextValue returns an AnyValue of a text.
func TextValue(text string) Message { return Message{{1, "stringValue", Text(text)}} }

// ListValue returns an AnyValue of a list.
func ListValue(values []Message) Message {
	return Message{{5, "arrayValue", Message{{1, "values", Always{values}}}}}
}

// valueOf returns the value of an attribute as an AnyValue. A value of another type than the attribute's is text.
func valueOf(a *op.Attr) Message {
	switch a.Type { // the common ones
	case op.AttrText:
		return TextValue(a.Value)
	case op.AttrInt:
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
			return intValue(n)
		}
	}
	var x lexer.Lexer
	x.Reset(a.AppendJSONValue(nil))
	return jsonValue(&x)
}

// jsonValue returns the next value in the lexer, see op.AttrJSON.
func jsonValue(x *lexer.Lexer) Message {
	switch x.Peek() {
	case '"':
		return TextValue(string(x.Str()))
	case 't', 'f':
		return Message{{2, "boolValue", Always{x.Bool()}}}
	case 'n':
		x.Null()
		return Message{}
	case '[':
		var list []Message
		for x.Array(); x.More(); {
			list = append(list, jsonValue(x))
		}
		return ListValue(list)
	case '{':
		return objectValue(x)
	}
	number := x.Number()
	if n, ok := scalar.ParseInt(number); ok && !bytes.ContainsAny(number, ".eE") {
		return intValue(n)
	}
	f, _ := strconv.ParseFloat(string(number), 64) // an infinity where it is too large
	return doubleValue(f)
}

func intValue(n int64) Message { return Message{{3, "intValue", Always{n}}} }

func doubleValue(f float64) Message { return Message{{4, "doubleValue", Always{f}}} }

// objectValue returns a map, or the bytes or number in an object that stands for them.
func objectValue(x *lexer.Lexer) Message {
	m := x.Mark()
	raw := string(x.Raw())
	if f, ok := scalar.CutDouble(raw); ok {
		return doubleValue(f)
	}
	if text, ok := scalar.CutBytes(raw); ok {
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return Message{{7, "bytesValue", Always{b}}}
		}
		return TextValue(text)
	}
	x.Rewind(m)
	var list []Message
	for x.Object(); x.More(); {
		key := string(x.Key())
		list = append(list, keyValue(key, jsonValue(x)))
	}
	return Message{{6, "kvlistValue", Message{{1, "values", Always{list}}}}}
}
