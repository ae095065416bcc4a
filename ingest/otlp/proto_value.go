package otlp

import (
	"encoding/base64"
	"math"
)

// parseMember reads a KeyValue of a resource or a map.
func parseMember(w *wire, depth int) (m member) {
	for w.next() {
		switch w.field {
		case fieldKey:
			m.key = string(w.bytes())
		case fieldValue:
			v := w.message()
			m.value = parseAnyValue(&v, depth)
			w.join(&v)
		default:
			w.skip()
		}
	}
	return m
}

// parseAnyValue reads a value of any type.
func parseAnyValue(w *wire, depth int) (v value) {
	for w.next() {
		switch w.field {
		case fieldString:
			v = value{kind: kindString, text: string(w.bytes())}
		case fieldBool:
			v = value{kind: kindBool, boolean: w.uint() != 0}
		case fieldInt:
			v = value{kind: kindInt, integer: int64(w.uint())}
		case fieldDouble:
			v = value{kind: kindFloat, float: math.Float64frombits(w.fixed64())}
		case fieldArray, fieldMap:
			v = value{kind: kindList}
			if w.field == fieldMap {
				v.kind = kindMap
			}
			m := w.message()
			if depth < maxValueDepth {
				v.list, v.members = parseValues(&m, v.kind, depth+1)
			}
			w.join(&m)
		case fieldBytes: // as JSON has it
			v = value{kind: kindBytes, text: base64.StdEncoding.EncodeToString(w.bytes())}
		default:
			w.skip()
		}
	}
	return v
}

// parseValues reads the elements of an array or the members of a map.
func parseValues(w *wire, kind valueKind, depth int) (list []value, members []member) {
	for w.next() {
		if w.field != fieldValues {
			w.skip()
			continue
		}
		m := w.message()
		if kind == kindMap {
			members = append(members, parseMember(&m, depth))
		} else {
			list = append(list, parseAnyValue(&m, depth))
		}
		w.join(&m)
	}
	return list, members
}
