// Package wire builds messages field by field, whose generated types would bring a module each: [Fields] are
// those of a message of protobuf, and a [Message] is one of OTLP that is written in protobuf or in JSON.
package wire

import "google.golang.org/protobuf/encoding/protowire"

// Fields are the fields of a message. Values that are 0 or empty are left out, as protobuf
// has it, but for messages.
type Fields []byte

// Message appends a field that is a message.
func (f Fields) Message(n protowire.Number, m Fields) Fields {
	return protowire.AppendBytes(protowire.AppendTag(f, n, protowire.BytesType), m)
}

// Text appends a text.
func (f Fields) Text(n protowire.Number, s string) Fields {
	if s == "" {
		return f
	}
	return f.Element(n, s)
}

// Element appends a text that is one of a list, which may be empty.
func (f Fields) Element(n protowire.Number, s string) Fields {
	return protowire.AppendString(protowire.AppendTag(f, n, protowire.BytesType), s)
}

// Varint appends an integer.
func (f Fields) Varint(n protowire.Number, v int64) Fields {
	if v == 0 {
		return f
	}
	return protowire.AppendVarint(protowire.AppendTag(f, n, protowire.VarintType), uint64(v))
}

// Fixed64 appends an integer of eight bytes.
func (f Fields) Fixed64(n protowire.Number, v int64) Fields {
	if v == 0 {
		return f
	}
	return protowire.AppendFixed64(protowire.AppendTag(f, n, protowire.Fixed64Type), uint64(v))
}

// Packed appends a list of integers.
func Packed[T ~int32 | ~int64](f Fields, n protowire.Number, values []T) Fields {
	if len(values) == 0 {
		return f
	}
	var list Fields
	for _, v := range values {
		list = protowire.AppendVarint(list, uint64(v))
	}
	return f.Message(n, list)
}

// Index returns the place of a key in a table, where what element returns is put for a new
// one.
func Index[K comparable, E any](places map[K]int32, table *[]E, key K, element func() E) int32 {
	i, ok := places[key]
	if !ok {
		e := element()
		i = int32(len(*table))
		places[key] = i
		*table = append(*table, e)
	}
	return i
}
