package optrace

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The wire types of protocol buffers that OTLP uses.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// varintSize returns how many bytes the varint of v takes.
func varintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// appendTag appends the tag of a field.
func appendTag(dst []byte, field, wire int) []byte {
	return binary.AppendUvarint(dst, uint64(field)<<3|uint64(wire))
}

// appendVarintField appends an integer field, or nothing for 0, which is what
// an absent field means.
func appendVarintField(dst []byte, field int, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return binary.AppendUvarint(appendTag(dst, field, wireVarint), v)
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

// appendBytesField appends a field that holds v, also an empty one.
func appendBytesField(dst []byte, field int, v []byte) []byte {
	dst = binary.AppendUvarint(appendTag(dst, field, wireBytes), uint64(len(v)))
	return append(dst, v...)
}

// appendTextField appends a field that holds s, also an empty one.
func appendTextField(dst []byte, field int, s string) []byte {
	s = validText(s)
	dst = binary.AppendUvarint(appendTag(dst, field, wireBytes), uint64(len(s)))
	return append(dst, s...)
}

// appendOptionalText appends a field that holds s, or nothing where s is empty.
func appendOptionalText(dst []byte, field int, s string) []byte {
	if s == "" {
		return dst
	}
	return appendTextField(dst, field, s)
}

// validText returns s with U+FFFD for every byte that is not UTF-8, which
// protocol buffers do not allow in text.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// A message within a message stands behind its length. begin reserves reserve
// bytes for it, and end puts it there, moving the message where its length
// takes another number of bytes.
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
