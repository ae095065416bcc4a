package convert

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
)

const (
	// maxListDepth is how deep nested lists are read; shapes need two levels.
	maxListDepth = 4
	// elementBytes is about the memory that an element of a list takes.
	elementBytes = 32
)

// feedList hands the elements of the list v, at the given depth of nesting, to
// l and returns about how many bytes they take.
func feedList(l *op.List, v attribute.Value, depth int) (bytes int) {
	switch v.Type() {
	case attribute.INT64SLICE:
		list := v.AsInt64Slice()
		for _, n := range list {
			l.Int(n)
		}
		return len(list) * elementBytes
	case attribute.FLOAT64SLICE:
		list := v.AsFloat64Slice()
		for _, f := range list {
			l.Float(f)
		}
		return len(list) * elementBytes
	case attribute.STRINGSLICE:
		for _, s := range v.AsStringSlice() {
			l.Str(s)
			bytes += len(s) + elementBytes
		}
	case attribute.BOOLSLICE:
		list := v.AsBoolSlice()
		for _, b := range list {
			l.Bool(b)
		}
		return len(list) * elementBytes
	case attribute.SLICE:
		for _, e := range v.AsSlice() {
			bytes += feedElement(l, e, depth) + elementBytes
		}
	}
	return bytes
}

// feedElement hands an element of a list at the given depth to l.
func feedElement(l *op.List, v attribute.Value, depth int) (bytes int) {
	switch v.Type() {
	case attribute.EMPTY:
		l.Null()
		return 0
	case attribute.INT64:
		l.Int(v.AsInt64())
		return 0
	case attribute.FLOAT64:
		l.Float(v.AsFloat64())
		return 0
	case attribute.STRING:
		l.Str(v.AsString())
		return len(v.AsString())
	case attribute.BOOL:
		l.Bool(v.AsBool())
		return 0
	case attribute.MAP, attribute.BYTESLICE:
		if l.Keeps() {
			text := appendJSON(nil, v, depth)
			l.JSON(text)
			return len(text)
		}
	case attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.BOOLSLICE, attribute.SLICE:
		if depth < maxListDepth {
			l.Begin()
			bytes = feedList(l, v, depth+1)
			l.End()
			return bytes
		}
	}
	l.Other()
	return 0
}
