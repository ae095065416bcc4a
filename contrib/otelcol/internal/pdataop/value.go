package pdataop

import (
	"encoding/base64"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
)

// maxValueDepth bounds how deep attribute values are looked into. Shapes need two
// levels; what is deeper is taken as a value of a wrong type.
const maxValueDepth = 8

func (r *Reader) value(t attrmap.Target, v pcommon.Value) {
	b := r.builder
	if !t.Wanted() {
		b.SetOther(t)
		return
	}
	switch v.Type() {
	case pcommon.ValueTypeEmpty:
		b.SetEmpty(t)
	case pcommon.ValueTypeStr:
		b.SetStr(t, v.Str())
	case pcommon.ValueTypeBool:
		b.Bool(t.Key(), v.Bool())
	case pcommon.ValueTypeInt:
		b.SetInt(t, v.Int())
	case pcommon.ValueTypeDouble:
		b.Float(t.Key(), v.Double())
	case pcommon.ValueTypeSlice:
		list := b.SetList(t)
		r.list(&list, v.Slice(), 0)
		list.End()
	case pcommon.ValueTypeBytes, pcommon.ValueTypeMap:
		if !t.Kept() {
			b.SetOther(t)
			return
		}
		a := attrOf(t.Key(), v)
		b.SetRaw(t, a.Type, []byte(a.Value))
	}
}

func (r *Reader) list(list *attrmap.List, s pcommon.Slice, depth int) {
	for _, v := range s.All() {
		switch v.Type() {
		case pcommon.ValueTypeEmpty:
			list.Null()
		case pcommon.ValueTypeStr:
			list.Str(v.Str())
		case pcommon.ValueTypeInt:
			list.Int(v.Int())
		case pcommon.ValueTypeDouble:
			list.Float(v.Double())
		case pcommon.ValueTypeBool:
			list.Bool(v.Bool())
		case pcommon.ValueTypeSlice:
			if depth == maxValueDepth {
				list.Other()
				continue
			}
			list.Begin()
			r.list(list, v.Slice(), depth+1)
			list.End()
		default:
			if !list.Keeps() {
				list.Other()
				continue
			}
			r.json = appendJSON(r.json[:0], v, depth+1)
			list.JSON(r.json)
		}
	}
}

// attrOf returns an attribute that no operation has.
func attrOf(key string, v pcommon.Value) op.Attr {
	a := op.Attr{Key: valid(key), Value: "null", Type: op.AttrJSON}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		a.Value, a.Type = valid(v.Str()), op.AttrText
	case pcommon.ValueTypeBool:
		a.Value, a.Type = strconv.FormatBool(v.Bool()), op.AttrBool
	case pcommon.ValueTypeInt:
		a.Value, a.Type = strconv.FormatInt(v.Int(), 10), op.AttrInt
	case pcommon.ValueTypeDouble:
		return opmodel.FloatAttr(a.Key, v.Double())
	case pcommon.ValueTypeBytes:
		a.Value, a.Type = base64.StdEncoding.EncodeToString(v.Bytes().AsRaw()), op.AttrBytes
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		a.Value = valid(string(appendJSON(nil, v, 0)))
	}
	return a
}

// appendJSON appends a value as JSON, as op.AttrJSON describes. Values that are nested
// too deep are left out.
func appendJSON(dst []byte, v pcommon.Value, depth int) []byte {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return jsontext.AppendString(dst, v.Str())
	case pcommon.ValueTypeBool:
		return strconv.AppendBool(dst, v.Bool())
	case pcommon.ValueTypeInt:
		return strconv.AppendInt(dst, v.Int(), 10)
	case pcommon.ValueTypeDouble:
		return jsontext.AppendDouble(dst, v.Double())
	case pcommon.ValueTypeBytes:
		return jsontext.AppendBytes(dst, base64.StdEncoding.EncodeToString(v.Bytes().AsRaw()))
	case pcommon.ValueTypeSlice:
		dst = append(dst, '[')
		if depth < maxValueDepth {
			for i, e := range v.Slice().All() {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = appendJSON(dst, e, depth+1)
			}
		}
		return append(dst, ']')
	case pcommon.ValueTypeMap:
		return append(appendMembers(append(dst, '{'), v.Map(), depth), '}')
	}
	return append(dst, "null"...)
}

func appendMembers(dst []byte, m pcommon.Map, depth int) []byte {
	if depth == maxValueDepth {
		return dst
	}
	first := true
	for key, v := range m.All() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendJSON(append(jsontext.AppendString(dst, key), ':'), v, depth+1)
	}
	return dst
}
