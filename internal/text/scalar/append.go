// Package scalar appends and parses single values of JSON without reflection and allocation: strings, numbers and ids.
// It knows no document; internal/text/lexer reads those.
package scalar

import (
	"bytes"
	"math"
	"strconv"
	"strings"
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

// AppendList appends a JSON array.
func AppendList[T any](dst []byte, list []T, element func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, v)
	}
	return append(dst, ']')
}

// AppendStrings appends a JSON array of strings.
func AppendStrings[S ~string](dst []byte, list []S) []byte {
	return AppendList(dst, list, func(dst []byte, s S) []byte { return AppendString(dst, string(s)) })
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

// ValidUTF8 returns v with U+FFFD for each byte that is not UTF-8, like encoding/json.
func ValidUTF8(v string) string {
	if utf8.ValidString(v) {
		return v
	}
	return string([]rune(v))
}
