package wire

import (
	"encoding/base64"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/internal/jsontext"
)

// Message is a message of OTLP, whose fields have names in JSON. Generated types would not do: those of the
// two modules that there are cannot be in one program, and a program may have either.
type Message []Field

// Field is a field of a message. What is 0 or empty is left out, messages and the elements of
// lists aside.
type Field struct {
	// Number is what protobuf knows the field by; messages that are written in JSON only need none.
	Number protowire.Number
	Name   string
	// Value is an int32, a uint32, an int64, a Fixed64, a string, a Text, an ID, a Message, a list of
	// these, an Attributes or an Always.
	Value any
}

// Fixed64 is a number that takes eight bytes.
type Fixed64 int64

// ID is bytes that JSON has in hexadecimal digits.
type ID []byte

// Text is a string that is written even if it is empty.
type Text string

// Always is another value that is written even if it is 0 or empty: a bool, an int32, an int64, a float64, a []byte,
// an Attributes or a []Message.
type Always struct{ Of any }

// Proto returns the message in protobuf.
func (m Message) Proto() (f Fields) {
	for _, x := range m {
		switch v := x.Value.(type) {
		case int32:
			f = f.Varint(x.Number, int64(v))
		case int64:
			f = f.Varint(x.Number, v)
		case Fixed64:
			f = f.Fixed64(x.Number, int64(v))
		case string:
			f = f.Text(x.Number, v)
		case Text:
			f = f.Element(x.Number, string(v))
		case ID:
			f = f.Text(x.Number, string(v))
		case Message:
			f = f.Message(x.Number, v.Proto())
		case []Message:
			f = f.messages(x.Number, v)
		case []string:
			for _, one := range v {
				f = f.Element(x.Number, one)
			}
		case []int32:
			f = Packed(f, x.Number, v)
		case []int64:
			f = Packed(f, x.Number, v)
		case Attributes:
			for i := range v {
				f = f.Message(x.Number, keyValue(v[i].Key, valueOf(&v[i])).Proto())
			}
		case Always:
			f = v.proto(f, x.Number)
		}
	}
	return f
}

func (a Always) proto(f Fields, n protowire.Number) Fields {
	switch v := a.Of.(type) {
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(f, n, protowire.VarintType), protowire.EncodeBool(v))
	case int64:
		return protowire.AppendVarint(protowire.AppendTag(f, n, protowire.VarintType), uint64(v))
	case float64:
		return protowire.AppendFixed64(protowire.AppendTag(f, n, protowire.Fixed64Type), math.Float64bits(v))
	case []Message:
		return f.messages(n, v)
	}
	return f.Message(n, a.Of.([]byte))
}

func (f Fields) messages(n protowire.Number, list []Message) Fields {
	for _, m := range list {
		f = f.Message(n, m.Proto())
	}
	return f
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
		if dst = appendValue(dst, m[i].Value); len(dst) == value {
			dst = dst[:before]
		}
	}
	return append(dst, '}')
}

// appendValue appends the value of a field in JSON, or nothing where it is left out. Numbers of 64 bits are text.
func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case int32:
		if v != 0 {
			return appendInt32(dst, v)
		}
	case uint32:
		if v != 0 {
			return strconv.AppendUint(dst, uint64(v), 10)
		}
	case int64:
		if v != 0 {
			return appendInt64(dst, v)
		}
	case Fixed64:
		return appendValue(dst, int64(v))
	case string:
		if v != "" {
			return jsontext.AppendString(dst, v)
		}
	case Text:
		return jsontext.AppendString(dst, string(v))
	case ID:
		if len(v) > 0 {
			return append(jsontext.AppendHex(append(dst, '"'), v), '"')
		}
	case Message:
		return v.AppendJSON(dst)
	case []Message:
		return appendList(dst, v, func(dst []byte, m Message) []byte { return m.AppendJSON(dst) })
	case []string:
		return appendList(dst, v, jsontext.AppendString)
	case []int32:
		return appendList(dst, v, appendInt32)
	case []int64:
		return appendList(dst, v, appendInt64)
	case Attributes:
		if len(v) > 0 {
			return v.appendJSON(dst)
		}
	case Always:
		return v.appendJSON(dst)
	}
	return dst
}

func (a Always) appendJSON(dst []byte) []byte {
	switch v := a.Of.(type) {
	case bool:
		return strconv.AppendBool(dst, v)
	case int32:
		return appendInt32(dst, v)
	case int64:
		return appendInt64(dst, v)
	case float64:
		switch {
		case math.IsNaN(v):
			return append(dst, `"NaN"`...)
		case math.IsInf(v, 1):
			return append(dst, `"Infinity"`...)
		case math.IsInf(v, -1):
			return append(dst, `"-Infinity"`...)
		}
		return jsontext.AppendDouble(dst, v)
	case Attributes:
		return v.appendJSON(dst)
	case []Message:
		if len(v) == 0 {
			return append(dst, "[]"...)
		}
		return appendValue(dst, v)
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), a.Of.([]byte)), '"')
}

func appendList[T any](dst []byte, list []T, element func([]byte, T) []byte) []byte {
	for i, v := range list {
		dst = element(append(dst, "[,"[min(i, 1)]), v)
	}
	if len(list) > 0 {
		dst = append(dst, ']')
	}
	return dst
}

func appendInt32(dst []byte, v int32) []byte { return strconv.AppendInt(dst, int64(v), 10) }

func appendInt64(dst []byte, v int64) []byte {
	return append(strconv.AppendInt(append(dst, '"'), v, 10), '"')
}
