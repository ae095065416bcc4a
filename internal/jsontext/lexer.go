package jsontext

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth bounds how deep values may nest. encoding/json stops at 10,000;
// nothing this project reads nests deeper than an OTLP attribute value does.
const MaxDepth = 512

// Lexer reads one JSON text held in memory. Its methods are called in the
// order of the document; the first violation of the grammar is kept, and from
// then on every call is a no-op that returns zero values, so that callers look
// at Err once, at the end.
//
//	for l.Object(); l.More(); {
//		switch string(l.Key()) {
//		case "name":
//			name = string(l.Str())
//		default:
//			l.Skip()
//		}
//	}
//
// A Lexer is not safe for concurrent use. The bytes that Key and Str return
// are valid until the next call.
type Lexer struct {
	buf     []byte
	pos     int
	err     error
	errPos  int
	scratch []byte

	// stack holds the closing delimiter of every open object or array, and
	// first whether its first element is still to come.
	stack []frame
}

type frame struct {
	closing byte
	first   bool
}

// Reset makes l read b from its start. The lexer does not modify b.
func (l *Lexer) Reset(b []byte) {
	l.buf, l.pos, l.err, l.errPos = b, 0, nil, 0
	l.stack = l.stack[:0]
}

// Err returns the first violation of the grammar, or nil.
func (l *Lexer) Err() error { return l.err }

// Offset returns where the error stands, or else how far the lexer has read.
func (l *Lexer) Offset() int {
	if l.err != nil {
		return l.errPos
	}
	return l.pos
}

// Truncated reports whether the text ended where more was needed.
func (l *Lexer) Truncated() bool { return errors.Is(l.err, errEnd) }

var errEnd = errors.New("unexpected end of JSON text")

func (l *Lexer) fail(msg string) {
	if l.err != nil {
		return
	}
	l.errPos = l.pos
	if l.pos >= len(l.buf) {
		l.err = errEnd
		return
	}
	l.err = fmt.Errorf("%s, found %q", msg, rune(l.buf[l.pos]))
}

// failWith keeps msg as the error without looking at the next byte.
func (l *Lexer) failWith(msg string, at int) {
	if l.err == nil {
		l.err, l.errPos = errors.New(msg), at
	}
}

func (l *Lexer) space() {
	for l.pos < len(l.buf) {
		switch l.buf[l.pos] {
		case ' ', '\t', '\n', '\r':
			l.pos++
		default:
			return
		}
	}
}

// Peek returns the first byte of the next value, 0 at the end or after an
// error: { [ " t f n - or a digit in a valid text.
func (l *Lexer) Peek() byte {
	if l.err != nil {
		return 0
	}
	l.space()
	if l.pos >= len(l.buf) {
		return 0
	}
	return l.buf[l.pos]
}

// Object enters an object. Anything else is an error.
func (l *Lexer) Object() { l.open('{', '}', "expected an object") }

// Array enters an array. Anything else is an error.
func (l *Lexer) Array() { l.open('[', ']', "expected an array") }

func (l *Lexer) open(opening, closing byte, msg string) {
	if l.Peek() != opening {
		l.fail(msg)
		return
	}
	if len(l.stack) >= MaxDepth {
		l.failWith("nested deeper than "+strconv.Itoa(MaxDepth), l.pos)
		return
	}
	l.pos++
	l.stack = append(l.stack, frame{closing: closing, first: true})
}

// More reports whether the innermost object or array has another element, and
// leaves it when it has none.
func (l *Lexer) More() bool {
	if l.err != nil || len(l.stack) == 0 {
		return false
	}
	top := &l.stack[len(l.stack)-1]
	c := l.Peek()
	if c == top.closing {
		l.pos++
		l.stack = l.stack[:len(l.stack)-1]
		return false
	}
	if top.first {
		top.first = false
		if c == 0 {
			l.fail("expected a value")
			return false
		}
		return true
	}
	if c != ',' {
		l.fail("expected ',' or '" + string(top.closing) + "'")
		return false
	}
	l.pos++
	if l.Peek() == top.closing {
		l.fail("expected a value after ','")
		return false
	}
	return true
}

// Key reads a member's name and the colon behind it.
func (l *Lexer) Key() []byte {
	k := l.Str()
	if l.Peek() != ':' {
		l.fail("expected ':'")
		return nil
	}
	l.pos++
	return k
}

// Str reads a string and returns its unescaped bytes, valid until the next
// call. Unpaired surrogates become U+FFFD.
func (l *Lexer) Str() []byte {
	if l.Peek() != '"' {
		l.fail("expected a string")
		return nil
	}
	start := l.pos + 1
	for i := start; i < len(l.buf); i++ {
		switch c := l.buf[i]; {
		case c == '"':
			l.pos = i + 1
			return l.buf[start:i]
		case c == '\\':
			return l.escaped(start, i)
		case c < ' ':
			l.failWith("control character in a string", i)
			return nil
		}
	}
	l.pos = len(l.buf)
	l.fail("")
	return nil
}

// escaped reads a string whose first escape stands at i.
func (l *Lexer) escaped(start, i int) []byte {
	out := append(l.scratch[:0], l.buf[start:i]...)
	for i < len(l.buf) {
		c := l.buf[i]
		switch {
		case c == '"':
			l.pos = i + 1
			l.scratch = out
			return out
		case c < ' ':
			l.failWith("control character in a string", i)
			return nil
		case c != '\\':
			out = append(out, c)
			i++
			continue
		}
		if i+1 >= len(l.buf) {
			break
		}
		switch e := l.buf[i+1]; e {
		case '"', '\\', '/':
			out = append(out, e)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, n := l.unicode(i)
			if n == 0 {
				return nil
			}
			out = utf8.AppendRune(out, r)
			i += n
			continue
		default:
			l.failWith("invalid escape in a string", i)
			return nil
		}
		i += 2
	}
	l.pos = len(l.buf)
	l.fail("")
	return nil
}

// unicode decodes the \uXXXX at i, with the low surrogate behind it where
// there is one, and returns how many bytes it took; 0 after an error.
func (l *Lexer) unicode(i int) (rune, int) {
	r, ok := hex4(l.buf, i+2)
	if !ok {
		if i+6 > len(l.buf) {
			l.pos = len(l.buf)
			l.fail("")
		} else {
			l.failWith(`invalid \u escape in a string`, i)
		}
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if i+7 < len(l.buf) && l.buf[i+6] == '\\' && l.buf[i+7] == 'u' {
		if low, ok := hex4(l.buf, i+8); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				return full, 12
			}
		}
	}
	return utf8.RuneError, 6
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	var r rune
	for _, c := range b[i : i+4] {
		d := hexValue(c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// hexValue returns the value of a hexadecimal digit in either case, or -1.
func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// DecodeHex fills dst from exactly 2×len(dst) hexadecimal digits in either
// case and reports whether src was that.
func DecodeHex(dst, src []byte) bool {
	if len(src) != 2*len(dst) {
		return false
	}
	for i := range dst {
		hi, lo := hexValue(src[2*i]), hexValue(src[2*i+1])
		if hi < 0 || lo < 0 {
			return false
		}
		dst[i] = byte(hi<<4 | lo)
	}
	return true
}

// Number reads a number and returns its text, valid as long as the buffer.
func (l *Lexer) Number() []byte {
	c := l.Peek()
	if c != '-' && (c < '0' || c > '9') {
		l.fail("expected a number")
		return nil
	}
	start := l.pos
	if c == '-' {
		l.pos++
	}
	switch {
	case l.pos < len(l.buf) && l.buf[l.pos] == '0':
		l.pos++
	case l.digits() == 0:
		l.fail("expected a digit")
		return nil
	}
	if l.pos < len(l.buf) && l.buf[l.pos] == '.' {
		l.pos++
		if l.digits() == 0 {
			l.fail("expected a digit after '.'")
			return nil
		}
	}
	if l.pos < len(l.buf) && (l.buf[l.pos] == 'e' || l.buf[l.pos] == 'E') {
		l.pos++
		if l.pos < len(l.buf) && (l.buf[l.pos] == '+' || l.buf[l.pos] == '-') {
			l.pos++
		}
		if l.digits() == 0 {
			l.fail("expected a digit in the exponent")
			return nil
		}
	}
	return l.buf[start:l.pos]
}

func (l *Lexer) digits() int {
	start := l.pos
	for l.pos < len(l.buf) && '0' <= l.buf[l.pos] && l.buf[l.pos] <= '9' {
		l.pos++
	}
	return l.pos - start
}

// Null consumes null and reports whether it stood there.
func (l *Lexer) Null() bool { return l.Peek() == 'n' && l.literal("null") }

// Bool reads true or false.
func (l *Lexer) Bool() bool {
	switch l.Peek() {
	case 't':
		return l.literal("true")
	case 'f':
		l.literal("false")
		return false
	}
	l.fail("expected true or false")
	return false
}

func (l *Lexer) literal(want string) bool {
	rest := l.buf[l.pos:]
	if !bytes.HasPrefix(rest, []byte(want)) {
		if len(rest) < len(want) && want[:len(rest)] == string(rest) {
			l.pos = len(l.buf)
		}
		l.fail("expected " + want)
		return false
	}
	l.pos += len(want)
	return true
}

// Skip reads and checks the next value, whatever it is.
func (l *Lexer) Skip() {
	base := len(l.stack)
	for {
		switch c := l.Peek(); c {
		case '{':
			l.Object()
		case '[':
			l.Array()
		case '"':
			l.Str()
		case 't', 'f':
			l.Bool()
		case 'n':
			l.Null()
		default:
			l.Number()
		}
		// Close what ended, and step to the next element of what did not.
		for {
			if l.err != nil || len(l.stack) == base {
				return
			}
			inObject := l.stack[len(l.stack)-1].closing == '}'
			if l.More() {
				if inObject {
					l.Key()
				}
				break
			}
		}
		if l.err != nil {
			return
		}
	}
}

// Raw reads and checks the next value and returns its text.
func (l *Lexer) Raw() []byte {
	l.Peek()
	start := l.pos
	l.Skip()
	if l.err != nil {
		return nil
	}
	return l.buf[start:l.pos]
}

// End reports an error unless only white space is left.
func (l *Lexer) End() {
	if l.Peek() != 0 {
		l.fail("expected the end of the JSON text")
	} else if l.err == nil && l.pos < len(l.buf) {
		l.fail("expected the end of the JSON text")
	}
}

// ParseInt returns the int64 that a JSON number's text stands for. Fractions
// and exponents are accepted where the value is integral and exact (2.0, 1e3);
// ok is false for anything else.
func ParseInt(text []byte) (v int64, ok bool) {
	neg := false
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		neg, digits = true, digits[1:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	var n uint64
	for i, c := range digits {
		if c < '0' || c > '9' {
			return parseIntegralFloat(text)
		}
		if i >= 18 {
			// Close to the limits of 64 bits: let strconv check them.
			v, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				return parseIntegralFloat(text)
			}
			return v, true
		}
		n = n*10 + uint64(c-'0')
	}
	v = int64(n)
	if neg {
		v = -v
	}
	return v, true
}

func parseIntegralFloat(text []byte) (int64, bool) {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, false
	}
	return IntegralFloat(f)
}

// IntegralFloat returns f as an int64 where that is exact: integral, finite
// and within ±2^53.
func IntegralFloat(f float64) (int64, bool) {
	const maxExact = 1 << 53
	if f != math.Trunc(f) || math.Abs(f) > maxExact {
		return 0, false
	}
	return int64(f), true
}

// ParseMicros returns the nanoseconds of a number of microseconds given as
// JSON text, rounded half away from zero to the nanosecond and computed
// without going through float64 wherever the text has no exponent. ok is
// false where the result does not fit.
func ParseMicros(text []byte) (ns int64, ok bool) {
	digits, neg := text, false
	if len(digits) > 0 && digits[0] == '-' {
		neg, digits = true, digits[1:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	const limit = math.MaxInt64/10 - 1
	fraction := -1 // digits behind the point so far, -1 before the point
	round := false
	for i, c := range digits {
		switch {
		case c == '.' && fraction < 0 && i > 0:
			fraction = 0
		case c < '0' || c > '9':
			return parseMicrosFloat(text)
		case fraction >= 3:
			if fraction == 3 {
				round = c >= '5'
			}
			fraction++
		default:
			if ns > limit {
				return 0, false
			}
			ns = ns*10 + int64(c-'0')
			if fraction >= 0 {
				fraction++
			}
		}
	}
	for f := max(fraction, 0); f < 3; f++ {
		if ns > limit {
			return 0, false
		}
		ns *= 10
	}
	if round {
		ns++
	}
	if neg {
		ns = -ns
	}
	return ns, true
}

func parseMicrosFloat(text []byte) (int64, bool) {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, false
	}
	ns := math.Round(f * 1000)
	if math.Abs(ns) >= math.MaxInt64 {
		return 0, false
	}
	return int64(ns), true
}

// ParseFloat returns the float64 nearest to a JSON number's text; ok is false
// where it is out of range.
func ParseFloat(text []byte) (v float64, ok bool) {
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}
