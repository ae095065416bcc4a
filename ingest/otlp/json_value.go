package otlp

import "github.com/optrace/optrace/internal/jsontext"

// parseMembers reads the attributes of a resource, or a map.
func parseMembers(l *jsontext.Lexer, depth int) []member {
	var members []member
	if l.Null() {
		return nil
	}
	for l.Array(); l.More(); {
		var m member
		for l.Object(); l.More(); {
			switch string(l.Key()) {
			case "key":
				m.key = string(l.Str())
			case "value":
				m.value = parseAny(l, depth)
			default:
				l.Skip()
			}
		}
		members = append(members, m)
	}
	return members
}

// parseAny reads a value of any type.
func parseAny(l *jsontext.Lexer, depth int) (v value) {
	if l.Null() {
		return v
	}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "stringValue", "string_value":
			v = value{kind: kindString, text: string(l.Str())}
		case "intValue", "int_value":
			if n, ok := integer(l); ok {
				v = value{kind: kindInt, integer: n}
			}
		case "doubleValue", "double_value":
			if f, ok := double(l); ok {
				v = value{kind: kindFloat, float: f}
			}
		case "boolValue", "bool_value":
			v = value{kind: kindBool, boolean: l.Bool()}
		case "bytesValue", "bytes_value":
			v = value{kind: kindBytes, text: string(l.Str())}
		case "arrayValue", "array_value":
			v = value{kind: kindList}
			if depth == maxValueDepth {
				l.Skip()
				continue
			}
			v.list = parseList(l, depth+1)
		case "kvlistValue", "kvlist_value":
			v = value{kind: kindMap}
			if depth == maxValueDepth {
				l.Skip()
				continue
			}
			v.members = parseMap(l, depth+1)
		default:
			l.Skip()
		}
	}
	return v
}

// parseList reads the elements of an array value.
func parseList(l *jsontext.Lexer, depth int) (list []value) {
	for l.Object(); l.More(); {
		if string(l.Key()) != "values" {
			l.Skip()
			continue
		}
		if l.Null() {
			continue
		}
		for l.Array(); l.More(); {
			list = append(list, parseAny(l, depth))
		}
	}
	return list
}

// parseMap reads the members of a map value.
func parseMap(l *jsontext.Lexer, depth int) (members []member) {
	for l.Object(); l.More(); {
		if string(l.Key()) != "values" {
			l.Skip()
			continue
		}
		members = parseMembers(l, depth)
	}
	return members
}
