package otlp

import (
	"encoding/binary"
	"math/bits"

	"github.com/optrace/optrace/internal/text/lexer"
)

// The wire types of protocol buffers in OTLP.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// varintSize returns the number of bytes of v's varint.
func varintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// appendVarint appends v. Nearly all are small.
func appendVarint(dst []byte, v uint64) []byte {
	if v < 0x80 {
		return append(dst, byte(v))
	}
	return binary.AppendUvarint(dst, v)
}

func appendTag(dst []byte, field, wire int) []byte {
	return appendVarint(dst, uint64(field)<<3|uint64(wire))
}

// appendMessageHead appends the tag and the length of a message, bytes or text.
func appendMessageHead(dst []byte, field, size int) []byte {
	return appendVarint(appendTag(dst, field, wireBytes), uint64(size))
}

// appendVarintField appends an integer field unless v is 0.
func appendVarintField(dst []byte, field int, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return appendVarint(appendTag(dst, field, wireVarint), v)
}

// appendFixed64Field is appendVarintField for a field of eight bytes.
func appendFixed64Field(dst []byte, field int, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return binary.LittleEndian.AppendUint64(appendTag(dst, field, wireFixed64), v)
}

// appendFixed32Field is appendVarintField for a field of four bytes.
func appendFixed32Field(dst []byte, field int, v uint32) []byte {
	if v == 0 {
		return dst
	}
	return binary.LittleEndian.AppendUint32(appendTag(dst, field, wireFixed32), v)
}

// appendBytesField appends a field with v, even if empty.
func appendBytesField(dst []byte, field int, v []byte) []byte {
	return append(appendMessageHead(dst, field, len(v)), v...)
}

// appendTextField appends a field with s, even if empty. U+FFFD replaces bytes that are not UTF-8: protocol buffers do
// not allow these in text.
func appendTextField(dst []byte, field int, s string) []byte {
	s = lexer.ValidUTF8(s)
	return append(appendMessageHead(dst, field, len(s)), s...)
}

// appendOptionalText appends a field with s unless s is empty.
func appendOptionalText(dst []byte, field int, s string) []byte {
	if s == "" {
		return dst
	}
	return appendTextField(dst, field, s)
}

// beginMessage appends the tag of a nested message and reserves bytes for its length. endMessage writes the length, and
// moves the message if the length has another size.
//
//	dst, start := beginMessage(dst, field, 1)
//	dst = …append the fields…
//	dst = endMessage(dst, start, 1)
func beginMessage(dst []byte, field, reserve int) (grown []byte, start int) {
	dst = appendTag(dst, field, wireBytes)
	for range reserve {
		dst = append(dst, 0)
	}
	return dst, len(dst)
}

func endMessage(dst []byte, start, reserve int) []byte {
	n := len(dst) - start
	size := varintSize(uint64(n))
	if size > reserve {
		dst = append(dst, make([]byte, size-reserve)...) // does not allocate the operand
	}
	if size != reserve {
		copy(dst[start-reserve+size:], dst[start:start+n])
	}
	binary.PutUvarint(dst[start-reserve:], uint64(n))
	return dst[:start-reserve+size+n]
}
