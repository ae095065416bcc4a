package op

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
)

// Attr is a further attribute. Value is text whatever the type; Type says how
// formats with types write it.
type Attr struct {
	Key   string
	Value string
	Type  AttrType
}

// AttrType is the type of an attribute's value.
type AttrType uint8

// The types.
const (
	// AttrText: Value is the text.
	AttrText AttrType = iota
	// AttrInt: Value is an integer of 64 bits in decimal.
	AttrInt
	// AttrFloat: Value is a number as strconv.FormatFloat prints it with the format
	// 'g', such as "2.5", "4" and "NaN".
	AttrFloat
	// AttrBool: Value is "true" or "false".
	AttrBool
	// AttrBytes: Value is the bytes in base64.
	AttrBytes
	// AttrJSON: Value is a list, a map or null in JSON. Numbers with a point or an
	// exponent in it are floating-point numbers, others integers; bytes are objects
	// such as {"bytesValue":"AAE="}, and numbers that JSON does not have objects
	// such as {"doubleValue":"NaN"}.
	AttrJSON
)

// FloatAttr returns an attribute with a floating-point value.
func FloatAttr(key string, v float64) Attr {
	return Attr{Key: key, Value: strconv.FormatFloat(v, 'g', -1, 64), Type: AttrFloat}
}

// The texts around values that JSON does not have.
const (
	jsonBytes  = `{"bytesValue":"`
	jsonDouble = `{"doubleValue":"`
	jsonEnd    = `"}`
)

// AppendJSONValue appends the value as JSON from which the type can be told again.
// A value that is none of its type is appended as text.
func (a *Attr) AppendJSONValue(dst []byte) []byte {
	switch a.Type {
	case AttrInt:
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
			return strconv.AppendInt(dst, n, 10)
		}
	case AttrFloat:
		if f, err := strconv.ParseFloat(a.Value, 64); err == nil {
			return AppendFloatJSON(dst, f)
		}
	case AttrBool:
		if a.Value == "true" || a.Value == "false" {
			return append(dst, a.Value...)
		}
	case AttrBytes:
		return append(jsontext.AppendString(append(dst, jsonBytes[:len(jsonBytes)-1]...), a.Value), '}')
	case AttrJSON:
		if isComposite(a.Value) {
			return append(dst, a.Value...)
		}
	}
	return jsontext.AppendString(dst, a.Value)
}

// isComposite reports whether text is a list, a map or null in JSON, on one line.
func isComposite(text string) bool {
	if text == "null" {
		return true
	}
	if text == "" || text[0] != '[' && text[0] != '{' || strings.ContainsAny(text, "\n\r") {
		return false
	}
	return json.Valid([]byte(text))
}

// AppendFloatJSON appends a number as JSON that reads as a floating-point number, as
// [AttrJSON] describes.
func AppendFloatJSON(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		dst = append(dst, jsonDouble...)
		switch {
		case math.IsInf(f, 1):
			dst = append(dst, "Infinity"...)
		case math.IsInf(f, -1):
			dst = append(dst, "-Infinity"...)
		default:
			dst = append(dst, "NaN"...)
		}
		return append(dst, jsonEnd...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, 64)
	if bytes.IndexByte(dst[start:], '.') < 0 && bytes.IndexByte(dst[start:], 'e') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// AppendBytesJSON appends bytes, in base64, as JSON, as [AttrJSON] describes.
func AppendBytesJSON(dst []byte, base64 string) []byte {
	a := Attr{Value: base64, Type: AttrBytes}
	return a.AppendJSONValue(dst)
}

// SetNumber sets the value of an attribute to a number in JSON.
func (a *Attr) SetNumber(text []byte) {
	if bytes.ContainsAny(text, ".eE") {
		if f, ok := jsontext.ParseFloat(text); ok && !math.IsInf(f, 0) {
			*a = FloatAttr(a.Key, f)
			return
		}
	} else if n, ok := jsontext.ParseInt(text); ok {
		a.Value, a.Type = strconv.FormatInt(n, 10), AttrInt
		return
	}
	a.Value, a.Type = string(text), AttrText // no number of 64 bits
}

// SetRaw sets the value of an attribute to JSON of any type but a string or number.
func (a *Attr) SetRaw(text string) {
	a.Value, a.Type = text, AttrJSON
	if text == "true" || text == "false" {
		a.Type = AttrBool
		return
	}
	if inner, ok := cutJSON(text, jsonBytes); ok {
		a.Value, a.Type = inner, AttrBytes
		return
	}
	if inner, ok := cutJSON(text, jsonDouble); ok {
		switch inner {
		case "NaN":
			*a = FloatAttr(a.Key, math.NaN())
		case "Infinity":
			*a = FloatAttr(a.Key, math.Inf(1))
		case "-Infinity":
			*a = FloatAttr(a.Key, math.Inf(-1))
		}
	}
}

// IsJSONScalar reports whether an object in JSON stands for bytes or for a number that
// JSON does not have, as [AttrJSON] describes.
func IsJSONScalar(text []byte) bool {
	if !bytes.HasPrefix(text, []byte(jsonBytes)) && !bytes.HasPrefix(text, []byte(jsonDouble)) {
		return false
	}
	var a Attr
	a.SetRaw(string(text))
	return a.Type != AttrJSON
}

// cutJSON returns the text that stands between prefix and the end of an object with
// one member.
func cutJSON(text, prefix string) (inner string, ok bool) {
	if text, ok = strings.CutPrefix(text, prefix); !ok {
		return "", false
	}
	if inner, ok = strings.CutSuffix(text, jsonEnd); !ok || strings.ContainsAny(inner, `"\`) {
		return "", false
	}
	return inner, true
}

// FindAttr returns the attribute with a key, nil where there is none.
func FindAttr(attrs []Attr, key string) *Attr {
	for i := range attrs {
		if attrs[i].Key == key {
			return &attrs[i]
		}
	}
	return nil
}

// SetAttr sets an attribute among attrs: of equal keys the last wins.
func SetAttr(attrs []Attr, a Attr) []Attr {
	if old := FindAttr(attrs, a.Key); old != nil {
		*old = a
		return attrs
	}
	return append(attrs, a)
}

// AttrIndex sets attributes as [SetAttr] does, in the same time in a list of any length, which
// is one that it has set from the first attributes on. The zero value is ready, also for the
// next list.
type AttrIndex struct{ at map[string]int }

// indexedFrom is the length from which a list is indexed: short ones are quick to look through.
const indexedFrom = 32

// Set sets an attribute among attrs: of equal keys the last wins.
func (x *AttrIndex) Set(attrs []Attr, a Attr) []Attr {
	if len(attrs) < indexedFrom {
		if x.at != nil {
			x.at = nil
		}
		return SetAttr(attrs, a)
	}
	if len(x.at) != len(attrs) {
		x.at = make(map[string]int, 2*len(attrs))
		for i := range attrs {
			x.at[attrs[i].Key] = i
		}
	}
	if i, ok := x.at[a.Key]; ok {
		attrs[i] = a
		return attrs
	}
	x.at[a.Key] = len(attrs)
	return append(attrs, a)
}

// ValidAttr returns a with valid UTF-8.
func ValidAttr(a Attr) Attr {
	a.Key, a.Value = jsontext.ValidUTF8(a.Key), jsontext.ValidUTF8(a.Value)
	return a
}
