package wire

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// Attributes are attributes with their types, as a list of KeyValues.
type Attributes []op.Attr

func appendAttribute(dst []byte, a op.Attr) []byte {
	dst = lexer.AppendString(append(dst, `{"key":`...), a.Key)
	return append(valueOf(&a).AppendJSON(append(dst, `,"value":`...)), '}')
}

func keyValue(key string, value Message) Message {
	return Message{{1, "key", Text(key)}, {2, "value", value}}
}

// TextValue returns an AnyValue of a text.
func TextValue(text string) Message { return Message{{1, "stringValue", Text(text)}} }

// ListValue returns an AnyValue of a list.
func ListValue(values []Message) Message {
	return Message{{5, "arrayValue", Message{{1, "values", Always{values}}}}}
}

// valueOf returns the value of an attribute as an AnyValue. A value of another type than the attribute's is text.
func valueOf(a *op.Attr) Message {
	switch a.Type { // the common ones
	case op.AttrText:
		return TextValue(a.Value)
	case op.AttrInt:
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
			return intValue(n)
		}
	}
	var x lexer.Lexer
	x.Reset(a.AppendJSONValue(nil))
	return jsonValue(&x)
}

// jsonValue returns the next value in the lexer, see op.AttrJSON.
func jsonValue(x *lexer.Lexer) Message {
	switch x.Peek() {
	case '"':
		return TextValue(string(x.Str()))
	case 't', 'f':
		return Message{{2, "boolValue", Always{x.Bool()}}}
	case 'n':
		x.Null()
		return Message{}
	case '[':
		var list []Message
		for x.Array(); x.More(); {
			list = append(list, jsonValue(x))
		}
		return ListValue(list)
	case '{':
		return objectValue(x)
	}
	number := x.Number()
	if n, ok := lexer.ParseInt(number); ok && !bytes.ContainsAny(number, ".eE") {
		return intValue(n)
	}
	f, _ := strconv.ParseFloat(string(number), 64) // an infinity where it is too large
	return doubleValue(f)
}

func intValue(n int64) Message { return Message{{3, "intValue", Always{n}}} }

func doubleValue(f float64) Message { return Message{{4, "doubleValue", Always{f}}} }

// objectValue returns a map, or the bytes or number in an object that stands for them.
func objectValue(x *lexer.Lexer) Message {
	m := x.Mark()
	raw := string(x.Raw())
	if f, ok := lexer.CutDouble(raw); ok {
		return doubleValue(f)
	}
	if text, ok := lexer.CutBytes(raw); ok {
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return Message{{7, "bytesValue", Always{b}}}
		}
		return TextValue(text)
	}
	x.Rewind(m)
	var list []Message
	for x.Object(); x.More(); {
		key := string(x.Key())
		list = append(list, keyValue(key, jsonValue(x)))
	}
	return Message{{6, "kvlistValue", Message{{1, "values", Always{list}}}}}
}
