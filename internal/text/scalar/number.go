package scalar

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
)

// ParseInt returns the int64 of a JSON number's text. It accepts integral fractions and exponents (2.0, 1e3), computed
// exactly, and leading zeros: the text may come from a string. ok is false for any other text.
func ParseInt(text []byte) (v int64, ok bool) {
	digits, neg := cutSign(text)
	if 0 < len(digits) && len(digits) <= 18 { // the usual case
		if v, ok = decimal(digits); ok {
			if neg {
				v = -v
			}
			return v, true
		}
	}
	v, exact, ok := Scaled(text, 0)
	return v, ok && exact
}

// ParseFloat returns the float64 nearest to a JSON number's text; ok is false out of range.
func ParseFloat(text []byte) (v float64, ok bool) {
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// IntegralFloat returns f as an int64 if it is integral, finite and within ±2^53.
func IntegralFloat(f float64) (v int64, ok bool) {
	const maxExact = 1 << 53
	if f != math.Trunc(f) || math.Abs(f) > maxExact {
		return 0, false
	}
	return int64(f), true
}

// decimal returns the value of up to 18 digits.
func decimal(digits []byte) (v int64, ok bool) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return v, true
}

func cutSign(text []byte) (rest []byte, neg bool) {
	if len(text) > 0 && text[0] == '-' {
		return text[1:], true
	}
	return text, false
}

// Scaled returns the value of a decimal text times 10^shift, rounded half away from zero to an integer. exact
// reports a value without rounding. ok is false for other text or on overflow.
//
// The digits d1 d2 … of the text without the point mean 0.d1d2… × 10^point. The first point+shift digits of the scaled
// value lie before the decimal point.
func Scaled(text []byte, shift int) (v int64, exact, ok bool) {
	mantissa, neg := cutSign(text)
	mantissa, exponent, ok := cutExponent(mantissa)
	point := bytes.IndexByte(mantissa, '.') // digits of the mantissa before the point
	if point < 0 {
		point = len(mantissa)
	}
	if !ok || point == 0 || point == len(mantissa)-1 {
		return 0, false, false
	}
	integral := point + exponent + shift

	limit := uint64(math.MaxInt64)
	if neg {
		limit++
	}
	n := uint64(0)
	seen := 0
	up := false
	exact = true
	for i, c := range mantissa {
		if i == point {
			continue
		}
		d := uint64(c - '0')
		switch {
		case c < '0' || c > '9':
			return 0, false, false
		case seen < integral:
			if n > (limit-d)/10 {
				return 0, false, false
			}
			n = n*10 + d
		default:
			up = up || seen == integral && d >= 5
			exact = exact && d == 0
		}
		seen++
	}
	for ; seen < integral && n > 0; seen++ {
		if n > limit/10 {
			return 0, false, false
		}
		n *= 10
	}
	if up {
		if n == limit {
			return 0, false, false
		}
		n++
	}
	if neg {
		return -int64(n), exact, true // -2^63 wraps to itself
	}
	return int64(n), exact, true
}

// maxExponent bounds an exponent: ten times it fits an int of 32 bits. No text of sensible length has as many digits.
const maxExponent = 1 << 27

func cutExponent(text []byte) (mantissa []byte, exponent int, ok bool) {
	i := bytes.IndexAny(text, "eE")
	if i < 0 {
		return text, 0, true
	}
	exponent, err := strconv.Atoi(string(text[i+1:]))
	isLarge := errors.Is(err, strconv.ErrRange) && len(bytes.TrimLeft(text[i+2:], "0123456789")) == 0
	if err != nil && !isLarge {
		return nil, 0, false
	}
	return text[:i], min(max(exponent, -maxExponent), maxExponent), true
}

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

const ones = 0x0101010101010101 // a word of bytes of 1

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
