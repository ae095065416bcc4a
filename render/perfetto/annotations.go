package perfetto

import (
	"strconv"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/wire"
)

func (t *Timeline) annotations(args []op.Attr) string {
	var x lexer.Lexer
	var text []byte
	all := make(message, len(args))
	for i := range args {
		text = args[i].AppendJSONValue(text[:0])
		x.Reset(text)
		all[i] = wire.F(4, "debug_annotations", t.annotation(args[i].Key, &x))
	}
	return string(all.AppendProto(nil))
}

// annotation returns an annotation with a name and the next value of the lexer.
func (t *Timeline) annotation(name string, x *lexer.Lexer) message {
	return t.value(append(make(message, 0, 2), wire.F(1, "name_iid", int64(t.keys.ID(name))+1)), x)
}

// value appends the next value of the lexer to an annotation; null adds no field. An empty list becomes a nested value,
// because without entries it would be no value.
func (t *Timeline) value(to message, x *lexer.Lexer) message {
	switch x.Peek() {
	case '"':
		return append(to, wire.F(6, "string_value", wire.Text(x.Str())))
	case 't', 'f':
		return append(to, wire.F(2, "bool_value", wire.Always{Of: x.Bool()}))
	case 'n':
		x.Null()
	case '[':
		empty := len(to)
		for x.Array(); x.More(); {
			to = append(to, wire.F(12, "array_values", t.value(nil, x)))
		}
		if len(to) == empty {
			to = append(to, wire.F(8, "nested_value", message{wire.F(1, "nested_type", nestedArray)}))
		}
	case '{':
		for x.Object(); x.More(); {
			to = append(to, wire.F(11, "dict_entries", t.annotation(string(x.Key()), x)))
		}
	default:
		n, _ := strconv.ParseInt(string(x.Number()), 10, 64) // arguments have no others
		return append(to, wire.F(4, "int_value", wire.Always{Of: n}))
	}
	return to
}
