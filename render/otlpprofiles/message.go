package otlpprofiles

import (
	"encoding/base64"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/render/internal/wire"
)

// message is a message of protobuf, whose fields have names in JSON. Generated types would not do: those of the
// two modules that there are cannot be in one program, and a program may have either.
type message []field

// field is a field of a message. What is 0 or empty is left out, messages and the elements of
// lists aside.
type field struct {
	number protowire.Number
	name   string
	// value is an int32, an int64, a fixed64, a string, an id, a message, a list of these, or a
	// scalar.
	value any
}

// fixed64 is a number that takes eight bytes, and id one that JSON has in hexadecimal digits.
type (
	fixed64 int64
	id      []byte
)

// scalar is a value that is written even if it is 0 or empty: a string, a bool, an int64, a float64 or a []byte.
type scalar struct{ of any }

// proto returns the message in protobuf.
func (m message) proto() (f wire.Fields) {
	for _, x := range m {
		switch v := x.value.(type) {
		case int32:
			f = f.Varint(x.number, int64(v))
		case int64:
			f = f.Varint(x.number, v)
		case fixed64:
			f = f.Fixed64(x.number, int64(v))
		case string:
			f = f.Text(x.number, v)
		case id:
			f = f.Text(x.number, string(v))
		case message:
			f = f.Message(x.number, v.proto())
		case []message:
			for _, one := range v {
				f = f.Message(x.number, one.proto())
			}
		case []string:
			for _, one := range v {
				f = f.Element(x.number, one)
			}
		case []int32:
			f = wire.Packed(f, x.number, v)
		case []int64:
			f = wire.Packed(f, x.number, v)
		case scalar:
			f = v.proto(f, x.number)
		}
	}
	return f
}

func (s scalar) proto(f wire.Fields, n protowire.Number) wire.Fields {
	switch v := s.of.(type) {
	case string:
		return f.Element(n, v)
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(f, n, protowire.VarintType), protowire.EncodeBool(v))
	case int64:
		return protowire.AppendVarint(protowire.AppendTag(f, n, protowire.VarintType), uint64(v))
	case float64:
		return protowire.AppendFixed64(protowire.AppendTag(f, n, protowire.Fixed64Type), math.Float64bits(v))
	}
	return f.Message(n, s.of.([]byte))
}

// appendJSON appends the message in JSON.
func (m message) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	for _, x := range m {
		before := len(dst)
		if before > start {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendString(dst, x.name), ':')
		value := len(dst)
		if dst = appendValue(dst, x.value); len(dst) == value {
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
	case int64:
		if v != 0 {
			return appendInt64(dst, v)
		}
	case fixed64:
		return appendValue(dst, int64(v))
	case string:
		if v != "" {
			return jsontext.AppendString(dst, v)
		}
	case id:
		if len(v) > 0 {
			return append(jsontext.AppendHex(append(dst, '"'), v), '"')
		}
	case message:
		return v.appendJSON(dst)
	case []message:
		return appendList(dst, v, func(dst []byte, m message) []byte { return m.appendJSON(dst) })
	case []string:
		return appendList(dst, v, jsontext.AppendString)
	case []int32:
		return appendList(dst, v, appendInt32)
	case []int64:
		return appendList(dst, v, appendInt64)
	case scalar:
		return v.appendJSON(dst)
	}
	return dst
}

func (s scalar) appendJSON(dst []byte) []byte {
	switch v := s.of.(type) {
	case string:
		return jsontext.AppendString(dst, v)
	case bool:
		return strconv.AppendBool(dst, v)
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
		return jsontext.AppendFloat(dst, v)
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), s.of.([]byte)), '"')
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
