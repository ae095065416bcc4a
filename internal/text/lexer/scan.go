package lexer

import (
	"encoding/binary"
	"math/bits"

	"github.com/optrace/optrace/internal/text/scalar"
)

// The functions in this file read text of an expected form: without white space and escapes, numbers in their usual form.
// Each takes the text and the index to read at, and returns the index behind its text, or -1 for any other text. At index
// -1 they return -1: a reader calls one after the other and checks only the last index:
//
//	i := Literal(b, 0, `{"id":`)
//	id, i := Digits(b, i)
//	i = Literal(b, i, `,"name":`)
//	name, i := Quoted(b, i)
//	if i = Literal(b, i, `}`); i < 0 {
//		// another form, or not valid: read it with a Lexer
//	}

// Has reports whether text is at i.
func Has(b []byte, i int, text string) bool {
	return i >= 0 && len(b)-i >= len(text) && string(b[i:i+len(text)]) == text
}

// Literal reads text. For a constant the first eight bytes are compared without a call: often the member is absent.
func Literal(b []byte, i int, text string) int {
	if i >= 0 && len(b)-i >= len(text) && (len(text) < 8 || string(b[i:i+8]) == text[:8]) &&
		string(b[i:i+len(text)]) == text {
		return i + len(text)
	}
	return -1
}

// Quoted reads a string without escapes and returns the text between the quotes, perhaps invalid UTF-8.
func Quoted(b []byte, i int) (text []byte, end int) {
	if uint(i) >= uint(len(b)) || b[i] != '"' {
		return nil, -1
	}
	i++
	end = i + PlainPrefix(b[i:])
	if end >= len(b) || b[end] != '"' {
		return nil, -1
	}
	return b[i:end], end + 1
}

// QuotedWords reads a string of up to 23 bytes as three words: its first byte lowest, zeros behind it and its length
// in the highest byte. Different strings have different words. It does not check for escapes, control characters and
// invalid UTF-8, and fails if fewer than 25 bytes of b are left.
func QuotedWords(b []byte, i int) (first, second, third uint64, end int) {
	if i < 0 || len(b)-i < 25 || b[i] != '"' {
		return 0, 0, 0, -1
	}
	w := b[i+1 : i+25]
	first = binary.LittleEndian.Uint64(w)
	if quote := quotes(first); quote != 0 {
		n := bits.TrailingZeros64(quote) / 8
		return lowBytes(first, n), 0, uint64(n) << 56, i + n + 2
	}
	second = binary.LittleEndian.Uint64(w[8:])
	if quote := quotes(second); quote != 0 {
		n := bits.TrailingZeros64(quote) / 8
		return first, lowBytes(second, n), uint64(8+n) << 56, i + n + 10
	}
	third = binary.LittleEndian.Uint64(w[16:])
	if quote := quotes(third); quote != 0 {
		n := bits.TrailingZeros64(quote) / 8
		return first, second, lowBytes(third, n) | uint64(16+n)<<56, i + n + 18
	}
	return 0, 0, 0, -1
}

// lowBytes returns the n lowest bytes of a word, n below 8.
func lowBytes(word uint64, n int) uint64 { return word & (1<<(8*n&63) - 1) }

// quotes returns 0 if no byte of a word is a quote. Otherwise its lowest bit is the highest bit of the first quote.
func quotes(word uint64) uint64 {
	word ^= ones * '"'
	return (word - ones) &^ word & highs
}

// PlainPrefix returns the number of bytes in front of the first quote, backslash or control character.
func PlainPrefix(b []byte) int {
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		if found := notPlain(binary.LittleEndian.Uint64(b[i:])); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// notPlain returns 0 for plain bytes only. Else its lowest bit is the highest bit of the first other byte.
func notPlain(word uint64) uint64 {
	// The lowest high bit of each term marks the first such byte. A borrow can set wrong bits only above it.
	control := (word - ones*' ') &^ word
	quote := word ^ ones*'"'
	quote = (quote - ones) &^ quote
	backslash := word ^ ones*'\\'
	backslash = (backslash - ones) &^ backslash
	return (control | quote | backslash) & highs
}

// QuotedHex reads a string of exactly 2×len(dst) hexadecimal digits into dst. dst is undefined otherwise.
func QuotedHex(b []byte, i int, dst []byte) int {
	end := i + 1 + 2*len(dst)
	if i < 0 || end >= len(b) || b[i] != '"' || b[end] != '"' || !scalar.DecodeHex(dst, b[i+1:end]) {
		return -1
	}
	return end + 1
}

// Digits reads decimal digits without a leading zero in an int64. A fraction or an exponent may follow.
func Digits(b []byte, i int) (v int64, end int) {
	// Like leadingDigits, without a loop or a call.
	if i >= 0 && len(b)-i >= 24 {
		w := b[i : i+24]
		x, n := digitWord(w)
		zero := x&0xff == 0
		if 0 < n && n < 8 {
			if zero && n > 1 {
				return 0, -1
			}
			return int64(eightDigits(x << (64 - 8*n))), i + n
		}
		y, m := digitWord(w[8:])
		if n == 8 && m < 8 && !zero {
			return int64(eightDigits(x)*pow10[m] + eightDigits(y<<(64-8*m))), i + 8 + m
		}
		// A time in Unix nanoseconds has 19 digits.
		if z, l := digitWord(w[16:]); n+m == 16 && l == 3 && !zero {
			u := (eightDigits(x)*pow10[8]+eightDigits(y))*pow10[3] + eightDigits(z<<40)
			if u < 1<<63 {
				return int64(u), i + 19
			}
		}
	}
	u, n := leadingDigits(b, i)
	if n == 0 || n > maxDigits || u >= 1<<63 || n > 1 && b[i] == '0' {
		return 0, -1
	}
	return int64(u), i + n
}

// digitWord returns the first eight bytes of b as digits, and the number of leading digits.
func digitWord(b []byte) (x uint64, n int) {
	x = binary.LittleEndian.Uint64(b) ^ ones*'0'
	// A byte other than a digit may spoil higher ones; the lowest is right.
	return x, bits.TrailingZeros64((x|(x+ones*(0x80-10)))&highs) / 8
}

// ShortList appends the rest of a list of numbers from -1 up, fast for numbers of up to four digits.
func ShortList(b []byte, i int, dst []int64) (list []int64, end int) {
	for {
		var v int64
		if i >= 0 && len(b)-i >= 8 {
			w := (*[8]byte)(b[i : i+8])
			if x, n := digitWord(w[:]); 0 < n && n <= 4 && (x&0xff != 0 || n == 1) {
				dst = append(dst, int64(fourDigits(uint32(x)<<(32-8*n))))
				i += n + 1
				switch w[n] {
				case ',':
					continue
				case ']':
					return dst, i
				}
				return dst, -1
			}
		}
		v, i = Integer(b, i)
		if v < -1 || uint(i) >= uint(len(b)) {
			return dst, -1
		}
		dst = append(dst, v)
		i++
		if c := b[i-1]; c != ',' {
			if c == ']' {
				return dst, i
			}
			return dst, -1
		}
	}
}

// fourDigits is eightDigits for four digits.
func fourDigits(x uint32) uint32 {
	x = x*10 + x>>8
	return x&0xff*100 + x>>16&0xff
}

// Integer is Digits with an optional minus sign.
func Integer(b []byte, i int) (v int64, end int) {
	if !Has(b, i, "-") {
		return Digits(b, i)
	}
	v, end = Digits(b, i+1)
	return -v, end
}

// QuotedDigits is Digits for a number in quotes.
func QuotedDigits(b []byte, i int) (v int64, end int) {
	v, end = Digits(b, Literal(b, i, `"`))
	return v, Literal(b, end, `"`)
}

// Micros reads a number of microseconds, not negative and with at most three digits behind the point, and returns
// nanoseconds. It does not look at an exponent behind it.
func Micros(b []byte, i int) (ns int64, end int) {
	if i >= 0 && len(b)-i >= 24 {
		w := b[i : i+24]
		// Mostly up to seven digits around a point.
		if x, n := digitWord(w); 0 < n && n < 7 && w[n] == '.' && x&0xff != 0 {
			y, m := digitWord(w[n+1:])
			if m == 0 || m > 3 {
				return 0, -1
			}
			return int64(eightDigits(x<<(64-8*n))*1000 + eightDigits(y<<(64-8*m))*pow10[3-m]), i + n + 1 + m
		}
	}
	u, n := leadingDigits(b, i)
	if n == 0 || n > maxDigits-4 || n > 1 && b[i] == '0' {
		return 0, -1
	}
	u *= 1000
	i += n
	if i < len(b) && b[i] == '.' {
		fraction, m := leadingDigits(b, i+1)
		if m == 0 || m > 3 {
			return 0, -1
		}
		u += fraction * pow10[3-m]
		i += 1 + m
	}
	return int64(u), i
}

// ParseMicros returns the nanoseconds of a number of microseconds in JSON, rounded half away from zero. It computes
// exactly, not through float64. ok is false on overflow.
func ParseMicros(text []byte) (ns int64, ok bool) {
	if ns, end := Micros(text, 0); end >= 0 && end == len(text) { // the usual case
		return ns, true
	}
	ns, _, ok = scalar.Scaled(text, 3)
	return ns, ok
}

const maxDigits = 19

// Words of eight equal bytes.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

var pow10 = [9]uint64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}

// leadingDigits returns the value of the digits at i and their number n. The value is right for n up to maxDigits.
func leadingDigits(b []byte, i int) (v uint64, n int) {
	if i < 0 {
		return 0, 0
	}
	for n <= maxDigits && len(b)-i-n >= 8 {
		x := binary.LittleEndian.Uint64(b[i+n:]) ^ ones*'0' // 0 to 9 for a digit
		// A byte other than a digit may spoil higher ones; the lowest is right.
		other := (x | (x + ones*(0x80-10))) & highs
		if other != 0 {
			// k digits, with leading zeros to make eight.
			k := bits.TrailingZeros64(other) / 8
			if k > 0 {
				v = v*pow10[k] + eightDigits(x<<(64-8*k))
			}
			return v, n + k
		}
		v = v*pow10[8] + eightDigits(x)
		n += 8
	}
	for ; i+n < len(b) && b[i+n]-'0' <= 9 && n <= maxDigits; n++ {
		v = v*10 + uint64(b[i+n]-'0')
	}
	return v, n
}

// eightDigits returns the value of eight digits, the first one lowest: it joins pairs, then quadruples, then all.
func eightDigits(x uint64) uint64 {
	const mask = 0x000000ff000000ff
	x = x*10 + x>>8
	return ((x&mask)*(100+1000000<<32) + (x>>16&mask)*(1+10000<<32)) >> 32
}
