package convert

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/span"
)

// maxListDepth is how deep nested lists are read; shapes need two levels.
const maxListDepth = 4

// areIntLists reports whether v is a list of lists of integers, such as shapes, and gathers these.
func (c *Converter) areIntLists(v attribute.Value) bool {
	if v.Type() != attribute.SLICE {
		return false
	}
	c.numbers, c.ends = c.numbers[:0], c.ends[:0]
	for _, e := range v.AsSlice() {
		if e.Type() != attribute.INT64SLICE {
			return false
		}
		c.numbers = append(c.numbers, e.AsInt64Slice()...)
		c.ends = append(c.ends, len(c.numbers))
	}
	return true
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
			span.EachElement(v, func(e attribute.Value) { feedElement(l, e, depth+1) })
			l.End()
		} else {
			l.Other()
		}
	default:
		l.Other()
	}
}
