package otlp

import (
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// parseResource reads a resource.
func (r *jsonReader) parseResource(l *jsontext.Lexer) {
	r.resource = op.Resource{}
	if l.Null() {
		return
	}
	for l.Object(); l.More(); {
		if string(l.Key()) != "attributes" {
			l.Skip()
			continue
		}
		if l.Null() {
			continue
		}
		for l.Array(); l.More(); {
			key, value := parseKeyValue(l, 0)
			r.resource.Set(valid(key), string(value))
		}
	}
}

// parseKeyValue reads a KeyValue of a resource or a map. The value is JSON, at depth 0
// a string as it is.
func parseKeyValue(l *jsontext.Lexer, depth int) (key string, value []byte) {
	value = []byte("null")
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "key":
			key = string(l.Str())
		case "value":
			value = appendValue(nil, l, depth)
		default:
			l.Skip()
		}
	}
	return key, value
}

// appendValue appends an AnyValue as JSON, at depth 0 a string as it is.
func appendValue(dst []byte, l *jsontext.Lexer, depth int) []byte {
	start := len(dst)
	dst = append(dst, "null"...)
	if l.Null() {
		return dst
	}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "stringValue", "string_value":
			if depth == 0 {
				dst = append(dst[:start], l.Str()...)
			} else {
				dst = jsontext.AppendString(dst[:start], string(l.Str()))
			}
		case "bytesValue", "bytes_value":
			dst = jsontext.AppendString(dst[:start], string(l.Str()))
		case "intValue", "int_value":
			if n, ok := integer(l); ok {
				dst = strconv.AppendInt(dst[:start], n, 10)
			}
		case "doubleValue", "double_value":
			if f, ok := double(l); ok {
				dst = appendDouble(dst[:start], f)
			}
		case "boolValue", "bool_value":
			dst = strconv.AppendBool(dst[:start], l.Bool())
		case "arrayValue", "array_value":
			dst = appendValues(dst[:start], l, depth, "[]", func(dst []byte) []byte { return appendValue(dst, l, depth+1) })
		case "kvlistValue", "kvlist_value":
			dst = appendValues(dst[:start], l, depth, "{}", func(dst []byte) []byte {
				key, value := parseKeyValue(l, depth+1)
				return append(append(jsontext.AppendString(dst, key), ':'), value...)
			})
		default:
			l.Skip()
		}
	}
	return dst
}

// appendValues appends the values of a list or a map, each appended by element, in
// brackets. Values that are nested too deep are left out.
func appendValues(dst []byte, l *jsontext.Lexer, depth int, brackets string, element func([]byte) []byte) []byte {
	dst = append(dst, brackets[0])
	if depth == maxValueDepth {
		l.Skip()
		return append(dst, brackets[1])
	}
	first := true
	for l.Object(); l.More(); {
		if string(l.Key()) != "values" {
			l.Skip()
			continue
		}
		if l.Null() {
			continue
		}
		for l.Array(); l.More(); first = false {
			if !first {
				dst = append(dst, ',')
			}
			dst = element(dst)
		}
	}
	return append(dst, brackets[1])
}
