package otlp

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// parseResource reads a Resource.
func (r *protoReader) parseResource(w wire) error {
	r.resource = op.Resource{}
	for w.next() {
		if w.field != fieldResourceAttributes {
			w.skip()
			continue
		}
		m := w.message()
		key, value := m.keyValue(0)
		w.join(&m)
		r.resource.Set(valid(key), string(value))
	}
	return w.err
}

// keyValue reads a KeyValue of a resource or a map. The value is JSON, at depth 0 a
// string as it is.
func (w *wire) keyValue(depth int) (key string, value []byte) {
	value = []byte("null")
	for w.next() {
		switch w.field {
		case fieldKey:
			key = string(w.bytes())
		case fieldValue:
			m := w.message()
			value = m.appendValue(nil, depth)
			w.join(&m)
		default:
			w.skip()
		}
	}
	return key, value
}

// appendValue appends an AnyValue as JSON, at depth 0 a string as it is.
func (w *wire) appendValue(dst []byte, depth int) []byte {
	start := len(dst)
	dst = append(dst, "null"...)
	for w.next() {
		switch w.field {
		case fieldString:
			if depth == 0 {
				dst = append(dst[:start], w.bytes()...)
			} else {
				dst = jsontext.AppendString(dst[:start], string(w.bytes()))
			}
		case fieldBool:
			dst = strconv.AppendBool(dst[:start], w.uint() != 0)
		case fieldInt:
			dst = strconv.AppendInt(dst[:start], int64(w.uint()), 10)
		case fieldDouble:
			dst = appendDouble(dst[:start], math.Float64frombits(w.fixed64()))
		case fieldArray:
			dst = w.appendValues(append(dst[:start], '['), depth, (*wire).appendValue)
			dst = append(dst, ']')
		case fieldMap:
			dst = w.appendValues(append(dst[:start], '{'), depth, (*wire).appendKeyValue)
			dst = append(dst, '}')
		case fieldBytes: // as JSON has it
			dst = jsontext.AppendString(dst[:start], base64.StdEncoding.EncodeToString(w.bytes()))
		default:
			w.skip()
		}
	}
	return dst
}

func (w *wire) appendKeyValue(dst []byte, depth int) []byte {
	key, value := w.keyValue(depth)
	return append(append(jsontext.AppendString(dst, key), ':'), value...)
}

// appendValues appends the values of an array or a map, separated by commas. Values
// that are nested too deep are left out.
func (w *wire) appendValues(dst []byte, depth int, element func(w *wire, dst []byte, depth int) []byte) []byte {
	m := w.message()
	for n := 0; depth < maxValueDepth && m.next(); {
		if m.field != fieldValues {
			m.skip()
			continue
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		e := m.message()
		dst = element(&e, dst, depth+1)
		m.join(&e)
	}
	w.join(&m)
	return dst
}

// appendDouble appends a number as JSON, one that JSON has no form for as a string.
func appendDouble(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return jsontext.AppendString(dst, strconv.FormatFloat(f, 'g', -1, 64))
	}
	return jsontext.AppendFloat(dst, f)
}
