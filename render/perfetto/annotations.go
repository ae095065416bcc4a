package perfetto

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// annotations returns the arguments of an event as debug annotations of it.
func (t *Timeline) annotations(args []op.Attr) (all []byte) {
	var x jsontext.Lexer
	var text []byte
	for i := range args {
		text = args[i].AppendJSONValue(text[:0])
		x.Reset(text)
		all = t.annotation(all, eventAnnotations, args[i].Key, &x)
	}
	return all
}

// annotation appends a field that is an annotation with a name and the value that comes next in the lexer.
func (t *Timeline) annotation(dst []byte, field protowire.Number, name string, x *jsontext.Lexer) []byte {
	return appendMessage(dst, field, append(appendUint(nil, annotationNameIID, t.keys.id(name)), t.value(x)...))
}

// value returns the value that comes next in the lexer, as fields of an annotation; nothing for null. A list
// without elements is a nested value: no entries would be no value.
func (t *Timeline) value(x *jsontext.Lexer) (fields []byte) {
	switch x.Peek() {
	case '"':
		return appendText(nil, annotationString, string(x.Str()))
	case 't', 'f':
		return appendUint(nil, annotationBool, protowire.EncodeBool(x.Bool()))
	case 'n':
		x.Null()
	case '[':
		for x.Array(); x.More(); {
			fields = appendMessage(fields, annotationArray, t.value(x))
		}
		if fields == nil {
			return appendMessage(nil, annotationNested, appendUint(nil, nestedType, nestedArray))
		}
	case '{':
		for x.Object(); x.More(); {
			fields = t.annotation(fields, annotationEntries, string(x.Key()), x)
		}
	default:
		n, _ := strconv.ParseInt(string(x.Number()), 10, 64) // arguments have no others
		return appendUint(nil, annotationInt, uint64(n))
	}
	return fields
}
