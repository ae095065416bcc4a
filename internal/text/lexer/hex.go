package lexer

import (
	"encoding/binary"
	"encoding/hex"
)

const hexDigits = "0123456789abcdef"

// AppendHex appends b in lower-case hexadecimal.
func AppendHex(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, hexDigits[c>>4], hexDigits[c&0xf])
	}
	return dst
}

// DecodeHex fills dst from exactly 2×len(dst) hexadecimal digits. dst is undefined if it reports false.
func DecodeHex(dst, src []byte) bool {
	if len(src) != 2*len(dst) {
		return false
	}
	switch len(dst) {
	case 8:
		return decodeHex8((*[8]byte)(dst), (*[16]byte)(src))
	case 16:
		return decodeHex8((*[8]byte)(dst), (*[16]byte)(src)) && decodeHex8((*[8]byte)(dst[8:]), (*[16]byte)(src[16:]))
	}
	_, err := hex.Decode(dst, src)
	return err == nil
}

// decodeHex8 is DecodeHex for a span's id.
func decodeHex8(dst *[8]byte, src *[16]byte) bool {
	hi, bad := eightHexDigits(binary.LittleEndian.Uint64(src[:8]))
	lo, bad2 := eightHexDigits(binary.LittleEndian.Uint64(src[8:]))
	// In one piece, because it is read so: the processor forwards only equal sizes.
	binary.LittleEndian.PutUint64(dst[:], uint64(lo)<<32|uint64(hi))
	return bad|bad2 == 0
}

// eightHexDigits returns the bytes of eight hexadecimal digits, the first one lowest. bad marks other bytes.
func eightHexDigits(x uint64) (v uint32, bad uint64) {
	letters := x >> 6 & ones // the bit that letters have
	d := x&(0x0f*ones) + letters*9
	// d written as a digit must be the digit in x.
	aboveNine := (d + (0x80-10)*ones) >> 7 & ones
	bad = (d + '0'*ones + aboveNine*('a'-'0'-10)) ^ (x | letters<<5) | d&(0xf0*ones)
	// Two digits to a byte, then the bytes together.
	d = (d<<4 | d>>8) & 0x00ff00ff00ff00ff
	d = (d | d>>8) & 0x0000ffff0000ffff
	return uint32(d | d>>16), bad
}

func hex4(b []byte, i int) (rune, bool) {
	var v [2]byte
	if i+4 > len(b) || !DecodeHex(v[:], b[i:i+4]) {
		return 0, false
	}
	return rune(v[0])<<8 | rune(v[1]), true
}

// ParseID reads an id of 8 or 16 bytes, perhaps only the low 8 of 16, in hexadecimal. A bad id becomes zero.
func ParseID(id, s []byte) bool {
	clear(id)
	to := id
	if len(id) == 16 && len(s) == 16 {
		to = id[8:]
	}
	if !DecodeHex(to, s) {
		clear(id)
		return false
	}
	return true
}
