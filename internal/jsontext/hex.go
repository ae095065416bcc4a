package jsontext

const hexDigits = "0123456789abcdef"

// notHex marks the bytes that are no hexadecimal digit in hexValues.
const notHex = 0xff

// hexValues holds the value of each hexadecimal digit in either case. A table
// makes decoding an id a third as expensive as comparing ranges.
var hexValues = func() (t [256]byte) {
	for i := range t {
		t[i] = notHex
	}
	for i := range byte(10) {
		t['0'+i] = i
	}
	for i := range byte(6) {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return t
}()

// AppendHex appends b in lower-case hexadecimal.
func AppendHex(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, hexDigits[c>>4], hexDigits[c&0xf])
	}
	return dst
}

// DecodeHex fills dst from exactly 2×len(dst) hexadecimal digits in either
// case and reports whether src was that. Where it was not, dst is undefined.
func DecodeHex(dst, src []byte) bool {
	if len(src) != 2*len(dst) {
		return false
	}
	if len(dst) == 8 {
		return decodeHex8((*[8]byte)(dst), (*[16]byte)(src))
	}
	bad := byte(0)
	for i := range dst {
		hi, lo := hexValues[src[2*i]], hexValues[src[2*i+1]]
		bad |= hi | lo
		dst[i] = hi<<4 | lo
	}
	return bad < 0x10
}

// decodeHex8 is DecodeHex for a span's id. That the lengths are known spares the
// checks of all indexes, two thirds of the time.
func decodeHex8(dst *[8]byte, src *[16]byte) bool {
	bad := byte(0)
	for i := range dst {
		hi, lo := hexValues[src[2*i]], hexValues[src[2*i+1]]
		bad |= hi | lo
		dst[i] = hi<<4 | lo
	}
	return bad < 0x10
}

// hex4 returns the value of the four digits at i.
func hex4(b []byte, i int) (rune, bool) {
	var v [2]byte
	if i+4 > len(b) || !DecodeHex(v[:], b[i:i+4]) {
		return 0, false
	}
	return rune(v[0])<<8 | rune(v[1]), true
}
