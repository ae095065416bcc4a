package otlp

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
)

// parseResource reads a Resource.
func (r *protoReader) parseResource(w wire) error {
	r.resource = op.Resource{}
	var index opmodel.AttrIndex
	for w.next() {
		if w.field != fieldResourceAttributes {
			w.skip()
			continue
		}
		opmodel.SetResourceAttr(&r.resource, &index, w.attr())
	}
	return w.err
}

// attr reads the current field as an attribute that is not a span's.
func (w *wire) attr() op.Attr {
	a := op.Attr{Value: "null", Type: op.AttrJSON}
	m := w.message()
	for m.next() {
		switch m.field {
		case fieldKey:
			a.Key = valid(string(m.bytes()))
		case fieldValue:
			v := m.message()
			v.attrValue(&a)
			m.join(&v)
		default:
			m.skip()
		}
	}
	w.join(&m)
	return a
}

// attrValue reads an AnyValue.
func (w *wire) attrValue(a *op.Attr) {
	a.Value, a.Type = "null", op.AttrJSON
	for w.next() {
		switch w.field {
		case fieldString:
			a.Value, a.Type = valid(string(w.bytes())), op.AttrText
		case fieldBool:
			a.Value, a.Type = strconv.FormatBool(w.uint() != 0), op.AttrBool
		case fieldInt:
			a.Value, a.Type = strconv.FormatInt(int64(w.uint()), 10), op.AttrInt
		case fieldDouble:
			*a = opmodel.FloatAttr(a.Key, math.Float64frombits(w.fixed64()))
		case fieldBytes:
			a.Value, a.Type = base64.StdEncoding.EncodeToString(w.bytes()), op.AttrBytes
		default:
			if text, ok := w.appendVariant(nil, 0); ok {
				a.Value, a.Type = valid(string(text)), op.AttrJSON
			}
		}
	}
}

// appendValue appends an AnyValue as JSON, as op.AttrJSON describes.
func (w *wire) appendValue(dst []byte, depth int) []byte {
	start := len(dst)
	dst = append(dst, "null"...)
	for w.next() {
		if value, ok := w.appendVariant(dst[:start], depth); ok {
			dst = value
		}
	}
	return dst
}

// appendVariant appends a value of the current field's type as JSON. It passes over
// what is none of the types.
func (w *wire) appendVariant(dst []byte, depth int) (value []byte, ok bool) {
	switch w.field {
	case fieldString:
		return jsontext.AppendString(dst, string(w.bytes())), true
	case fieldBool:
		return strconv.AppendBool(dst, w.uint() != 0), true
	case fieldInt:
		return strconv.AppendInt(dst, int64(w.uint()), 10), true
	case fieldDouble:
		return jsontext.AppendDouble(dst, math.Float64frombits(w.fixed64())), true
	case fieldArray:
		dst = w.appendValues(append(dst, '['), depth, (*wire).appendValue)
		return append(dst, ']'), true
	case fieldMap:
		dst = w.appendValues(append(dst, '{'), depth, (*wire).appendMember)
		return append(dst, '}'), true
	case fieldBytes: // as JSON has it
		return jsontext.AppendBytes(dst, base64.StdEncoding.EncodeToString(w.bytes())), true
	}
	w.skip()
	return dst, false
}

// appendMember appends a KeyValue of a map.
func (w *wire) appendMember(dst []byte, depth int) []byte {
	var key string
	value := []byte("null")
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
