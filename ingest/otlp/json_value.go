package otlp

import (
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
)

// parseResource reads a resource.
func (r *jsonReader) parseResource(l *jsontext.Lexer) {
	r.resource = op.Resource{}
	var index opmodel.AttrIndex
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
			opmodel.SetResourceAttr(&r.resource, &index, parseAttr(l))
		}
	}
}

// parseAttrs appends a list of attributes that are no span's.
func parseAttrs(dst []op.Attr, l *jsontext.Lexer) []op.Attr {
	if l.Null() {
		return dst
	}
	for l.Array(); l.More(); {
		dst = append(dst, parseAttr(l))
	}
	return dst
}

// parseAttr reads an attribute that is not a span's.
func parseAttr(l *jsontext.Lexer) op.Attr {
	a := op.Attr{Value: "null", Type: op.AttrJSON}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "key":
			a.Key = valid(string(l.Str()))
		case "value":
			parseAttrValue(l, &a)
		default:
			l.Skip()
		}
	}
	return a
}

// parseAttrValue reads an AnyValue.
func parseAttrValue(l *jsontext.Lexer, a *op.Attr) {
	a.Value, a.Type = "null", op.AttrJSON
	if l.Null() {
		return
	}
	for l.Object(); l.More(); {
		switch name := l.Key(); string(name) {
		case "stringValue", "string_value":
			a.Value, a.Type = valid(string(l.Str())), op.AttrText
		case "bytesValue", "bytes_value":
			a.Value, a.Type = valid(string(l.Str())), op.AttrBytes
		case "intValue", "int_value":
			if n, ok := integer(l); ok {
				a.Value, a.Type = strconv.FormatInt(n, 10), op.AttrInt
			}
		case "doubleValue", "double_value":
			if f, ok := double(l); ok {
				*a = opmodel.FloatAttr(a.Key, f)
			}
		case "boolValue", "bool_value":
			a.Value, a.Type = strconv.FormatBool(l.Bool()), op.AttrBool
		default:
			if text, ok := appendVariant(nil, l, name, 0); ok {
				a.Value, a.Type = valid(string(text)), op.AttrJSON
			}
		}
	}
}

// appendValue appends an AnyValue as JSON, as op.AttrJSON describes.
func appendValue(dst []byte, l *jsontext.Lexer, depth int) []byte {
	start := len(dst)
	dst = append(dst, "null"...)
	if l.Null() {
		return dst
	}
	for l.Object(); l.More(); {
		if value, ok := appendVariant(dst[:start], l, l.Key(), depth); ok {
			dst = value
		}
	}
	return dst
}

// appendVariant appends a value of the type name as JSON. It passes over what is none
// of the types.
func appendVariant(dst []byte, l *jsontext.Lexer, name []byte, depth int) (value []byte, ok bool) {
	switch string(name) {
	case "stringValue", "string_value":
		return jsontext.AppendString(dst, string(l.Str())), true
	case "bytesValue", "bytes_value":
		return jsontext.AppendBytes(dst, string(l.Str())), true
	case "intValue", "int_value":
		if n, ok := integer(l); ok {
			return strconv.AppendInt(dst, n, 10), true
		}
		return append(dst, "null"...), true
	case "doubleValue", "double_value":
		if f, ok := double(l); ok {
			return jsontext.AppendDouble(dst, f), true
		}
		return append(dst, "null"...), true
	case "boolValue", "bool_value":
		return strconv.AppendBool(dst, l.Bool()), true
	case "arrayValue", "array_value":
		return appendValues(dst, l, depth, "[]", func(dst []byte) []byte { return appendValue(dst, l, depth+1) }), true
	case "kvlistValue", "kvlist_value":
		return appendValues(dst, l, depth, "{}", func(dst []byte) []byte { return appendMember(dst, l, depth+1) }), true
	}
	l.Skip()
	return dst, false
}

// appendMember appends a KeyValue of a map.
func appendMember(dst []byte, l *jsontext.Lexer, depth int) []byte {
	var key string
	value := []byte("null")
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
	return append(append(jsontext.AppendString(dst, key), ':'), value...)
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
	if l.Null() {
		return append(dst, brackets[1])
	}
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
