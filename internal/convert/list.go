package convert

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/attrmap"
)

// maxListDepth is how deep nested lists are read; shapes need two levels.
const maxListDepth = 4

// feedList hands the elements of the list v, at the given depth of nesting, to l.
func feedList(l *attrmap.List, v attribute.Value, depth int) {
	switch v.Type() {
	case attribute.INT64SLICE:
		for _, n := range v.AsInt64Slice() {
			l.Int(n)
		}
	case attribute.FLOAT64SLICE:
		for _, f := range v.AsFloat64Slice() {
			l.Float(f)
		}
	case attribute.STRINGSLICE:
		for _, s := range v.AsStringSlice() {
			l.Str(s)
		}
	case attribute.BOOLSLICE:
		for _, b := range v.AsBoolSlice() {
			l.Bool(b)
		}
	case attribute.SLICE:
		for _, e := range v.AsSlice() {
			feedElement(l, e, depth)
		}
	}
}

// feedElement hands an element of a list at the given depth to l.
func feedElement(l *attrmap.List, v attribute.Value, depth int) {
	switch v.Type() {
	case attribute.EMPTY:
		l.Null()
	case attribute.INT64:
		l.Int(v.AsInt64())
	case attribute.FLOAT64:
		l.Float(v.AsFloat64())
	case attribute.STRING:
		l.Str(v.AsString())
	case attribute.BOOL:
		l.Bool(v.AsBool())
	case attribute.MAP, attribute.BYTESLICE:
		if l.Keeps() {
			l.JSON(appendJSON(nil, v, depth))
		} else {
			l.Other()
		}
	case attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.BOOLSLICE, attribute.SLICE:
		if depth < maxListDepth {
			l.Begin()
			feedList(l, v, depth+1)
			l.End()
		} else {
			l.Other()
		}
	default:
		l.Other()
	}
}
