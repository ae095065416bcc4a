package op

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/text/lexer"
)

// Attr is an attribute beside the fields of an [Entry], [Span] or other record. Value is text for every type; Type
// tells typed formats how to write it.
type Attr struct {
	Key   string
	Value string
	Type  AttrType
}

// AttrType is the type of an attribute's value.
type AttrType uint8

// The types.
const (
	AttrText AttrType = iota // Value is the text
	AttrInt                  // Value is an integer of 64 bits in decimal
	// AttrFloat: Value is a number as strconv.FormatFloat prints it with the format 'g', such as "2.5", "4" and "NaN".
	AttrFloat
	AttrBool  // Value is "true" or "false"
	AttrBytes // Value is the bytes in base64
	// AttrJSON: Value is a list, a map or null in JSON. A number with a point or an exponent is floating-point, any
	// other an integer. Bytes are objects such as {"bytesValue":"AAE="}; NaN and the infinities are objects such as
	// {"doubleValue":"NaN"}.
	AttrJSON
)

// AppendJSONValue appends the value as JSON of its type. A value that does not fit its type is appended as text.
func (a *Attr) AppendJSONValue(dst []byte) []byte {
	switch a.Type {
	case AttrInt:
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
			return strconv.AppendInt(dst, n, 10)
		}
	case AttrFloat:
		if f, err := strconv.ParseFloat(a.Value, 64); err == nil {
			return lexer.AppendDouble(dst, f)
		}
	case AttrBool:
		if a.Value == "true" || a.Value == "false" {
			return append(dst, a.Value...)
		}
	case AttrBytes:
		return lexer.AppendBytes(dst, a.Value)
	case AttrJSON:
		if isComposite(a.Value) {
			return append(dst, a.Value...)
		}
	}
	return lexer.AppendString(dst, a.Value)
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
