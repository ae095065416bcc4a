package stdouttrace

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
)

// attr returns an attribute with its type.
func (d *decoder) attr(a attribute) op.Attr {
	out := op.Attr{Key: a.key, Value: "null", Type: op.AttrJSON}
	if len(a.value) == 0 {
		return out
	}
	switch c := a.value[0]; {
	case c == '"':
		d.value.Reset(a.value)
		out.Value, out.Type = d.valid(d.value.Str()), op.AttrText
		if a.kind == kindBytes {
			out.Type = op.AttrBytes
		}
	case c == 't' || c == 'f':
		out.Value, out.Type = strconv.FormatBool(c == 't'), op.AttrBool
	case c == '[' || c == '{':
		out.Value = d.valid(appendValue(nil, a.kind, a.value, 0))
	case c != 'n':
		if n, ok := jsontext.ParseInt(a.value); ok && a.kind != kindFloat {
			out.Value, out.Type = strconv.FormatInt(n, 10), op.AttrInt
		} else if f, ok := jsontext.ParseFloat(a.value); ok {
			return opmodel.FloatAttr(a.key, f)
		}
	}
	return out
}

// attrs reads a list of attributes.
func (d *decoder) attrs() (all []op.Attr) {
	for more := d.lex.AnyArray(); more && d.lex.More(); {
		all = append(all, d.attr(d.next()))
	}
	return all
}

// typed is a value with its type, as the exporter prints it within others.
type typed struct {
	Type  string
	Value json.RawMessage
}

// maxDepth bounds how deep values are looked into.
const maxDepth = 16

// appendValue appends a value as JSON, as op.AttrJSON describes. What cannot be read is
// null.
func appendValue(dst []byte, kind string, value []byte, depth int) []byte {
	var floats []float64
	var f float64
	var text string
	var list []typed
	var members []struct {
		Key   string
		Value typed
	}
	read := func(to any) bool { return depth < maxDepth && json.Unmarshal(value, to) == nil }
	switch {
	case kind == kindFloat && read(&f):
		return jsontext.AppendDouble(dst, f)
	case kind == kindFloats && read(&floats):
		dst = append(dst, '[')
		for i, f := range floats {
			dst = jsontext.AppendDouble(comma(dst, i), f)
		}
		return append(dst, ']')
	case kind == kindBytes && read(&text):
		return jsontext.AppendBytes(dst, text)
	case kind == kindSlice && read(&list):
		dst = append(dst, '[')
		for i, e := range list {
			dst = appendValue(comma(dst, i), e.Type, e.Value, depth+1)
		}
		return append(dst, ']')
	case kind == kindMap && read(&members):
		dst = append(dst, '{')
		for i, m := range members {
			dst = append(jsontext.AppendString(comma(dst, i), m.Key), ':')
			dst = appendValue(dst, m.Value.Type, m.Value.Value, depth+1)
		}
		return append(dst, '}')
	}
	var compact bytes.Buffer
	if depth >= maxDepth || json.Compact(&compact, value) != nil {
		return append(dst, "null"...)
	}
	return append(dst, compact.Bytes()...)
}

// comma appends the comma between the elements of a list.
func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}
