// Package wire writes messages, whose generated types would bring a module each, in protobuf and in OTLP's JSON.
package wire

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/internal/text/lexer"
)

// Message is a message. Generated types of OTLP would not do: those of the two modules that there are cannot be in
// one program, and a program may have either.
type Message []Field

// Field is a field of a message. What is 0 or empty is left out, messages and the elements of
// lists aside.
type Field struct {
	// Number is what protobuf knows the field by, and Name what JSON does; what is written in one of them needs
	// only that.
	Number protowire.Number
	Name   string
	// Value is a bool, an int32, a uint32, an int64, a Fixed64, a float64, a string, a Text, a []byte, an ID, a Message,
	// a list of int32, int64, Fixed64, string or Message, an Ints, an Attributes, an Encoded or an Always.
	Value any
}

// F returns a field.
func F(number protowire.Number, name string, value any) Field { return Field{number, name, value} }

// Fixed64 is a number that takes eight bytes.
type Fixed64 int64

// Ints is a list of integers that protobuf has packed where that is shorter: of more than two. None of two is 0.
type Ints []int64

// Encoded is all of the fields of a number, in protobuf.
type Encoded string

// ID is bytes that JSON has in hexadecimal digits.
type ID []byte

// Text is a string that is written even if it is empty.
type Text string

// Always is another value that is written even if it is 0 or empty.
type Always struct{ Of any }

// AppendProto appends the message in protobuf.
func (m Message) AppendProto(dst []byte) []byte {
	for i := range m {
		dst = appendProto(dst, m[i].Number, m[i].Value, false)
	}
	return dst
}

func appendProto(dst []byte, n protowire.Number, v any, always bool) []byte {
	switch v := v.(type) {
	case Always:
		return appendProto(dst, n, v.Of, true)
	case bool:
		return appendVarint(dst, n, protowire.EncodeBool(v), always)
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

func appendVarint(dst []byte, n protowire.Number, v uint64, always bool) []byte {
	if v == 0 && !always {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.VarintType), v)
}

func appendFixed(dst []byte, n protowire.Number, v uint64, always bool) []byte {
	if v == 0 && !always {
		return dst
	}
	return protowire.AppendFixed64(protowire.AppendTag(dst, n, protowire.Fixed64Type), v)
}

func appendBytes[T ~string | ~[]byte](dst []byte, n protowire.Number, v T, always bool) []byte {
	if len(v) == 0 && !always {
		return dst
	}
	return append(protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.BytesType), uint64(len(v))), v...)
}

// appendMessage appends a message in place, and then its length in front of it.
func appendMessage(dst []byte, n protowire.Number, m Message) []byte {
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	start := len(dst)
	dst = m.AppendProto(dst)
	var length [binary.MaxVarintLen64]byte
	return slices.Insert(dst, start, length[:binary.PutUvarint(length[:], uint64(len(dst)-start))]...)
}

func appendPacked[T int32 | int64](dst []byte, n protowire.Number, list []T) []byte {
	var packed []byte
	for _, v := range list {
		packed = protowire.AppendVarint(packed, uint64(v))
	}
	return appendBytes(dst, n, packed, false)
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
		dst = append(append(append(dst, '"'), m[i].Name...), `":`...)
		value := len(dst)
		if dst = appendJSON(dst, m[i].Value, false); len(dst) == value {
			dst = dst[:before]
		}
	}
	return append(dst, '}')
}

// appendJSON appends the value of a field, or nothing where it is left out. Numbers of 64 bits are text.
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
			return lexer.AppendDouble(dst, v)
		}
	case string:
		if v != "" || always {
			return lexer.AppendString(dst, v)
		}
	case Text:
		return lexer.AppendString(dst, string(v))
	case ID:
		if len(v) > 0 || always {
			return append(lexer.AppendHex(append(dst, '"'), v), '"')
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
		return appendList(dst, v, always, lexer.AppendString)
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
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, v)
	}
	return append(dst, ']')
}
