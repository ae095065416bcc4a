package protobuf

import (
	"encoding/binary"
	"math/bits"

	"github.com/optrace/optrace/internal/text/lexer"
)

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
	s = lexer.ValidUTF8(s)
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
