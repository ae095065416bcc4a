// Package protobuf reads and writes messages of Protocol Buffers field by field, without generated types. It also has
// the field numbers of OTLP.
package protobuf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/optrace/optrace/internal/text/scalar"
)

// The wire types of fields.
const (
	Varint     = 0
	Fixed64    = 1
	Bytes      = 2
	StartGroup = 3 // not in proto3
	EndGroup   = 4
	Fixed32    = 5
)

// The errors of a [Cursor].
var (
	ErrEnd      = errors.New("unexpected end of protobuf message")
	ErrVarint   = errors.New("varint longer than 64 bits")
	ErrWireType = errors.New("invalid protobuf wire type")

	errField    = errors.New("invalid protobuf field number")
	errFieldFit = errors.New("protobuf field of an unexpected wire type")
)

// Cursor reads the fields of one message in order. It keeps the first error in Err; after an error every method
// returns zero values.
type Cursor struct {
	Buf []byte // the message
	Pos int    // of the next byte
	Err error

	// Field and Type are the number and the wire type of the current field.
	Field  int
	Type   byte
	groups int // open ones
}

// Next moves to the next field and reports whether there is one. Read or skip the field before the next call.
func (c *Cursor) Next() bool {
	if c.Err != nil || c.Pos >= len(c.Buf) {
		return false
	}
	tag := c.Varint()
	if c.Err != nil {
		return false
	}
	c.Type = byte(tag & 7)
	if n := tag >> 3; n == 0 || n > math.MaxInt32>>2 {
		c.Err = errField
		return false
	}
	c.Field = int(tag >> 3)
	return true
}

// Varint reads a varint without a tag.
func (c *Cursor) Varint() uint64 {
	if c.Err != nil {
		return 0
	}
	if c.Pos < len(c.Buf) && c.Buf[c.Pos] < 0x80 { // nearly always
		c.Pos++
		return uint64(c.Buf[c.Pos-1])
	}
	if c.Pos+1 < len(c.Buf) && c.Buf[c.Pos+1] < 0x80 { // the length of a span
		c.Pos += 2
		return uint64(c.Buf[c.Pos-2]&0x7f) | uint64(c.Buf[c.Pos-1])<<7
	}
	v, n := binary.Uvarint(c.Buf[c.Pos:])
	switch {
	case n == 0:
		c.Err = ErrEnd
	case n < 0:
		c.Err = ErrVarint
	default:
		c.Pos += n
		return v
	}
	return 0
}

// is sets an error unless the current field has the wire type.
func (c *Cursor) is(typ byte) bool {
	if c.Err == nil && c.Type != typ {
		c.Err = errFieldFit
	}
	return c.Err == nil
}

// has sets an error unless n more bytes follow.
func (c *Cursor) has(n int) bool {
	if c.Err == nil && len(c.Buf)-c.Pos < n {
		c.Err = ErrEnd
	}
	return c.Err == nil
}

// Uint reads the current field as a varint.
func (c *Cursor) Uint() uint64 {
	if !c.is(Varint) {
		return 0
	}
	return c.Varint()
}

// Fixed64 reads the current field as 8 bytes.
func (c *Cursor) Fixed64() uint64 {
	if !c.is(Fixed64) || !c.has(8) {
		return 0
	}
	c.Pos += 8
	return binary.LittleEndian.Uint64(c.Buf[c.Pos-8:])
}

// Fixed32 reads the current field as 4 bytes.
func (c *Cursor) Fixed32() uint32 {
	if !c.is(Fixed32) || !c.has(4) {
		return 0
	}
	c.Pos += 4
	return binary.LittleEndian.Uint32(c.Buf[c.Pos-4:])
}

// Bytes reads the current field as bytes. The result aliases the message.
func (c *Cursor) Bytes() []byte {
	if !c.is(Bytes) {
		return nil
	}
	n := c.Varint()
	if c.Err != nil {
		return nil
	}
	if n > uint64(len(c.Buf)-c.Pos) {
		c.Err = ErrEnd
		return nil
	}
	c.Pos += int(n)
	return c.Buf[c.Pos-int(n) : c.Pos]
}

// Any reads the current field: n is the value of a varint or of 8 bytes, data the content of a text or message. The
// other result is zero, and so are both for a field of another wire type.
func (c *Cursor) Any() (n uint64, data []byte) {
	switch c.Type {
	case Varint:
		return c.Varint(), nil
	case Fixed64:
		return c.Fixed64(), nil
	case Bytes:
		return 0, c.Bytes()
	}
	c.Skip()
	return 0, nil
}

// Skip passes over the current field.
func (c *Cursor) Skip() {
	switch c.Type {
	case Varint:
		c.Varint()
	case Fixed64:
		c.Fixed64()
	case Bytes:
		c.Bytes()
	case Fixed32:
		c.Fixed32()
	case StartGroup:
		c.skipGroup()
	default:
		c.Err = ErrWireType
	}
}

// skipGroup passes over a group and the groups in it.
func (c *Cursor) skipGroup() {
	const maxOpen = 64
	if c.groups++; c.groups > maxOpen {
		c.Err = ErrWireType
	}
	for group := c.Field; c.Next(); c.Skip() {
		if c.Type == EndGroup && c.Field == group {
			c.groups--
			return
		}
	}
	c.Err = cmp.Or(c.Err, ErrEnd)
}

// FieldSize returns the size of the field at the start of text. A field with a length needs only its tag and length
// in text; the size may then exceed len(text). The error is [ErrEnd] if text ends before the size is known.
func FieldSize(text []byte) (size int, err error) {
	c := Cursor{Buf: text}
	if c.Next(); c.Err == nil && c.Type == Bytes {
		n := c.Varint()
		return c.Pos + int(min(n, math.MaxInt32-binary.MaxVarintLen64)), c.Err
	}
	c.Skip()
	return c.Pos, c.Err
}

// VarintSize returns the number of bytes of v as a varint.
func VarintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// AppendVarint appends v as a varint. It is fast for small numbers.
func AppendVarint(dst []byte, v uint64) []byte {
	if v < 0x80 {
		return append(dst, byte(v))
	}
	return binary.AppendUvarint(dst, v)
}

// AppendTag appends the tag of a field with a wire type.
func AppendTag(dst []byte, field, typ int) []byte {
	return AppendVarint(dst, uint64(field)<<3|uint64(typ))
}

// AppendHead appends the tag and the length of a message, bytes or text.
func AppendHead(dst []byte, field, size int) []byte {
	return AppendVarint(AppendTag(dst, field, Bytes), uint64(size))
}

// AppendUint appends an integer field unless v is 0.
func AppendUint(dst []byte, field int, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return AppendVarint(AppendTag(dst, field, Varint), v)
}

// AppendFixed64 appends a field of 8 bytes unless v is 0.
func AppendFixed64(dst []byte, field int, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return binary.LittleEndian.AppendUint64(AppendTag(dst, field, Fixed64), v)
}

// AppendFixed32 appends a field of 4 bytes unless v is 0.
func AppendFixed32(dst []byte, field int, v uint32) []byte {
	if v == 0 {
		return dst
	}
	return binary.LittleEndian.AppendUint32(AppendTag(dst, field, Fixed32), v)
}

// AppendBytes appends a field of bytes, even an empty one.
func AppendBytes(dst []byte, field int, v []byte) []byte {
	return append(AppendHead(dst, field, len(v)), v...)
}

// AppendText appends a text field, even an empty one. Protocol Buffers allow only UTF-8 in text: U+FFFD replaces
// every invalid byte.
func AppendText(dst []byte, field int, s string) []byte {
	s = scalar.ValidUTF8(s)
	return append(AppendHead(dst, field, len(s)), s...)
}

// AppendOptionalText appends a text field unless s is empty.
func AppendOptionalText(dst []byte, field int, s string) []byte {
	if s == "" {
		return dst
	}
	return AppendText(dst, field, s)
}

// Begin starts a message within a message and reserves bytes for its length. End writes the length there, and moves
// the message if the length takes another number of bytes.
//
//	dst, start := Begin(dst, field, 1)
//	dst = …append the fields…
//	dst = End(dst, start, 1)
func Begin(dst []byte, field, reserve int) (grown []byte, start int) {
	dst = AppendTag(dst, field, Bytes)
	for range reserve {
		dst = append(dst, 0)
	}
	return dst, len(dst)
}

// End ends a message that [Begin] started.
func End(dst []byte, start, reserve int) []byte {
	n := len(dst) - start
	size := VarintSize(uint64(n))
	if size > reserve {
		dst = append(dst, make([]byte, size-reserve)...) // does not allocate the operand
	}
	if size != reserve {
		copy(dst[start-reserve+size:], dst[start:start+n])
	}
	binary.PutUvarint(dst[start-reserve:], uint64(n))
	return dst[:start-reserve+size+n]
}
