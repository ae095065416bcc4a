// Package lexer appends and scans JSON text without reflection and allocation. Every JSON reader and writer of this
// module uses it; it knows no format. It has three parts: the Append functions write values, a [Lexer] reads any valid
// text and describes errors, and functions over an index, such as [Literal] and [Digits], read text of an expected
// form fast.
package lexer

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. It escapes control characters, quotes and backslashes, and also U+2028 and
// U+2029, which break JavaScript. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf && plain[s[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if size == 1 || r == '\u2028' || r == '\u2029' {
			dst = appendEscaped(append(dst, s[start:i]...), r)
			start = i + size
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// plain marks the ASCII bytes that need no escape in a JSON string.
var plain = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\' && c != 0x7f
	}
	return t
}()

// appendEscaped appends a character that needs an escape, or U+FFFD.
func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b', '\t', '\n', '\f', '\r':
		return append(dst, '\\', "btn fr"[r-'\b'])
	case utf8.RuneError:
		return utf8.AppendRune(dst, r)
	}
	return append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
}

// AppendFloat appends v in the shortest form that reads back to the same value. NaN and infinities become null.
func AppendFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, 64)
}

// AppendMicros appends ns nanoseconds as microseconds, exactly: 600 becomes 0.6 and 1000 becomes 1.
func AppendMicros(dst []byte, ns int64) []byte {
	us := ns / 1000
	rest := ns % 1000
	if ns < 0 {
		dst = append(dst, '-')
		us = -us
		rest = -rest
	}
	dst = strconv.AppendInt(dst, us, 10)
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// JSON lacks some values. They are objects with one member: bytes in base64, NaN and the infinities.
const (
	bytesPrefix  = `{"bytesValue":"`
	doublePrefix = `{"doubleValue":"`
	scalarSuffix = `"}`
)

// AppendDouble appends a number that reads back as floating-point, such as 1.0 or {"doubleValue":"NaN"}.
func AppendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, doublePrefix+"NaN"+scalarSuffix...)
	case math.IsInf(f, 1):
		return append(dst, doublePrefix+"Infinity"+scalarSuffix...)
	case math.IsInf(f, -1):
		return append(dst, doublePrefix+"-Infinity"+scalarSuffix...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, 64)
	if bytes.IndexByte(dst[start:], '.') < 0 && bytes.IndexByte(dst[start:], 'e') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// AppendBytes appends bytes in base64 as an object such as {"bytesValue":"AAE="}.
func AppendBytes(dst []byte, base64 string) []byte {
	return append(AppendString(append(dst, bytesPrefix[:len(bytesPrefix)-1]...), base64), '}')
}

// CutBytes returns the base64 of such an object.
func CutBytes(text string) (base64 string, ok bool) { return cutScalar(text, bytesPrefix) }

// CutDouble returns the number of such an object.
func CutDouble(text string) (f float64, ok bool) {
	switch inner, _ := cutScalar(text, doublePrefix); inner {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	return 0, false
}

// cutScalar returns the text between a prefix and the end of an object with one member.
func cutScalar(text, prefix string) (inner string, ok bool) {
	if text, ok = strings.CutPrefix(text, prefix); !ok {
		return "", false
	}
	if inner, ok = strings.CutSuffix(text, scalarSuffix); !ok || strings.ContainsAny(inner, `"\\`) {
		return "", false
	}
	return inner, true
}

// Str reads a string and returns its unescaped bytes, valid until the next call. Invalid UTF-8 stays.
func (l *Lexer) Str() []byte {
	if l.Peek() != '"' {
		l.fail("expected a string")
		return nil
	}
	if text, end := Quoted(l.buf, l.pos); end >= 0 {
		l.pos = end
		return text
	}
	start := l.pos + 1
	return l.escaped(start, start+PlainPrefix(l.buf[start:]))
}

// AnyStr is Str for a value of any type: it skips any other, and returns nil.
func (l *Lexer) AnyStr() []byte {
	if l.Peek() == '"' {
		return l.Str()
	}
	l.Skip()
	return nil
}

// escapes are the characters of letters behind a backslash, 0 for other letters.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped reads the string at start. Its first byte that is not plain is at i.
func (l *Lexer) escaped(start, i int) []byte {
	out := append(l.scratch[:0], l.buf[start:i]...)
	for i+1 < len(l.buf) && l.buf[i] == '\\' {
		switch e := l.buf[i+1]; {
		case e == 'u':
			r, n := l.unicode(i)
			if n == 0 {
				return nil
			}
			out = utf8.AppendRune(out, r)
			i += n - 2
		case escapes[e] != 0:
			out = append(out, escapes[e])
		default:
			l.failAt("invalid escape in a string", i)
			return nil
		}
		i += 2
		n := PlainPrefix(l.buf[i:])
		out = append(out, l.buf[i:i+n]...)
		i += n
	}
	l.scratch = out
	switch {
	case i >= len(l.buf) || l.buf[i] == '\\':
		l.failEnd()
		return nil
	case l.buf[i] != '"':
		l.failAt("control character in a string", i)
		return nil
	}
	l.pos = i + 1
	return out
}

// unicode decodes the \uXXXX at i and a low surrogate behind it, and returns their size; 0 after an error.
func (l *Lexer) unicode(i int) (r rune, size int) {
	r, ok := hex4(l.buf, i+2)
	switch {
	case i+6 > len(l.buf):
		l.failEnd()
		return 0, 0
	case !ok:
		l.failAt(`invalid \u escape in a string`, i)
		return 0, 0
	case !utf16.IsSurrogate(r):
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

// ValidUTF8 returns v with U+FFFD for each byte that is not UTF-8, like encoding/json.
func ValidUTF8(v string) string {
	if utf8.ValidString(v) {
		return v
	}
	return string([]rune(v))
}
