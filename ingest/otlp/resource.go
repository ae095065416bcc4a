package otlp

import (
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// value is the value of a resource's attribute. Resources are rare, so that
// theirs may take memory; the attributes of spans go straight to the builder.
type value struct {
	kind    valueKind
	text    string // of a string
	integer int64
	float   float64
	boolean bool
	list    []value
	members []member
}

type member struct {
	key   string
	value value
}

type valueKind uint8

const (
	kindNone valueKind = iota
	kindString
	kindInt
	kindFloat
	kindBool
	kindList
	kindMap
	kindBytes
)

// setResource makes attrs the resource of what follows.
func (d *decoder) setResource(attrs []member) {
	d.resource = op.Resource{}
	for _, a := range attrs {
		d.resource.Set(valid(a.key), a.value.String())
	}
}

// String returns a scalar as text, and anything else as JSON.
func (v value) String() string {
	if v.kind == kindString {
		return valid(v.text)
	}
	return string(v.appendJSON(nil))
}

// appendJSON appends the value as JSON. Values are no deeper than
// maxValueDepth.
func (v value) appendJSON(dst []byte) []byte {
	switch v.kind {
	case kindString, kindBytes:
		return jsontext.AppendString(dst, v.text)
	case kindInt:
		return strconv.AppendInt(dst, v.integer, 10)
	case kindFloat:
		if math.IsNaN(v.float) || math.IsInf(v.float, 0) {
			return jsontext.AppendString(dst, strconv.FormatFloat(v.float, 'g', -1, 64))
		}
		return jsontext.AppendFloat(dst, v.float)
	case kindBool:
		return strconv.AppendBool(dst, v.boolean)
	case kindList:
		dst = append(dst, '[')
		for i, e := range v.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.appendJSON(dst)
		}
		return append(dst, ']')
	case kindMap:
		dst = append(dst, '{')
		for i, m := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsontext.AppendString(dst, m.key), ':')
			dst = m.value.appendJSON(dst)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}
