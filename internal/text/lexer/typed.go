package lexer

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

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
