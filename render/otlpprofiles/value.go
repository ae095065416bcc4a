package otlpprofiles

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
)

// attributesOf returns attributes as KeyValues.
func attributesOf(attrs []op.Attr) (all []message) {
	for i := range attrs {
		all = append(all, keyValue(attrs[i].Key, valueOf(&attrs[i])))
	}
	return all
}

func keyValue(key string, value message) message {
	return message{{1, "key", stacks.Clean(key)}, {2, "value", value}}
}

// textValue returns a text as an AnyValue.
func textValue(text string) message { return message{{1, "stringValue", scalar{text}}} }

// listValue returns a list of values as one.
func listValue(values []message) message {
	return message{{5, "arrayValue", message{{1, "values", values}}}}
}

// valueOf returns the value of an attribute as an AnyValue. One that is none of its type is text.
func valueOf(a *op.Attr) message {
	switch a.Type {
	case op.AttrInt:
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
			return message{{3, "intValue", scalar{n}}}
		}
	case op.AttrFloat:
		if x, err := strconv.ParseFloat(a.Value, 64); err == nil {
			return message{{4, "doubleValue", scalar{x}}}
		}
	case op.AttrBool:
		if b, err := strconv.ParseBool(a.Value); err == nil {
			return message{{2, "boolValue", scalar{b}}}
		}
	case op.AttrBytes:
		if b, err := base64.StdEncoding.DecodeString(a.Value); err == nil {
			return message{{7, "bytesValue", scalar{b}}}
		}
	case op.AttrJSON:
		dec := json.NewDecoder(strings.NewReader(a.Value))
		dec.UseNumber()
		var x any
		if dec.Decode(&x) == nil {
			return jsonValue(x)
		}
	}
	return textValue(stacks.Clean(a.Value))
}

// jsonValue returns the value that JSON stands for, as op.AttrJSON describes it.
func jsonValue(x any) message {
	switch x := x.(type) {
	case string:
		return textValue(stacks.Clean(x))
	case bool:
		return message{{2, "boolValue", scalar{x}}}
	case json.Number:
		if n, err := x.Int64(); err == nil && !strings.ContainsAny(x.String(), ".eE") {
			return message{{3, "intValue", scalar{n}}}
		}
		number, _ := x.Float64() // an infinity where it is too large
		return message{{4, "doubleValue", scalar{number}}}
	case []any:
		var list []message
		for _, element := range x {
			list = append(list, jsonValue(element))
		}
		return listValue(list)
	case map[string]any:
		if text, ok := x["bytesValue"].(string); ok && len(x) == 1 {
			return valueOf(&op.Attr{Value: text, Type: op.AttrBytes})
		}
		if text, ok := x["doubleValue"].(string); ok && len(x) == 1 {
			return valueOf(&op.Attr{Value: text, Type: op.AttrFloat})
		}
		var list []message
		for _, key := range slices.Sorted(maps.Keys(x)) {
			list = append(list, keyValue(key, jsonValue(x[key])))
		}
		return message{{6, "kvlistValue", message{{1, "values", list}}}}
	}
	return message{}
}
