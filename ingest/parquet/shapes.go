package parquet

import (
	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// outputShape reads a list of dimensions, or a shape as text.
func outputShape(l *leaf) use {
	if l.maxRep != 1 {
		return one(op.WarnBadShape, named(rows.ParseShape), func(r *rows.Row, v *value) {
			s := v.named.(rows.ShapeText)
			r.OutputShape, r.OutputCut = s.Shape, s.Cut
		})(l)
	}
	return use{translate: integer(op.Dynamic, 0), list: func(_ *column, r *rows.Row, cells []cell) {
		r.OutputShape, r.OutputCut = shape(r, cells, l.lists[0])
	}}
}

// inputShapes reads a list of lists of dimensions, a list of shapes as text, or one text
// for all.
func inputShapes(l *leaf) use {
	switch {
	case l.maxRep == 2:
		return use{translate: integer(op.Dynamic, 0), list: setInputShapes}
	case l.maxRep > 2 || !l.isText():
		return passing(op.WarnBadShape)
	case l.maxRep == 1:
		return use{translate: text, list: setShapeTexts}
	}
	return one(op.WarnBadShape, parseShapes, func(r *rows.Row, v *value) { r.InputShapes = v.named.([]op.Shape) })(l)
}

// shape returns a shape of the dimensions in cells, nil for one that is null or has
// something else than dimensions. cut tells that it has more than are read. An element of
// the list is at level def.
func shape(r *rows.Row, cells []cell, def int32) (s op.Shape, cut bool) {
	dims := r.Batch.Dims
	start, bad := len(dims), false
	for _, p := range cells {
		switch {
		case p.def < def:
		case p.v == nil || !p.v.ok:
			bad = true
		case len(dims)-start == op.MaxRank:
			cut = true
		default:
			dims = append(dims, p.v.number)
		}
	}
	r.Batch.Dims = dims
	switch {
	case cells[0].def < def-1:
		return nil, cut
	case bad:
		r.Warn |= op.WarnBadShape
		return nil, cut
	case cut:
		r.Warn |= op.WarnShapeTruncated
	}
	// Where dims grows later, this shape keeps the memory it had.
	return op.Shape(dims[start:len(dims):len(dims)]), cut
}

func setInputShapes(c *column, r *rows.Row, cells []cell) {
	b, lists := r.Batch, c.leaf.lists
	first := len(b.Inputs)
	if cells[0].def < lists[0]-1 {
		return
	}
	for len(cells) > 0 && cells[0].def >= lists[0] {
		n := 1
		for n < len(cells) && cells[n].rep == 2 {
			n++
		}
		s, _ := shape(r, cells[:n], lists[1])
		if cells = cells[n:]; len(b.Inputs)-first == op.MaxInputs {
			r.Warn |= op.WarnShapeTruncated
		} else {
			b.Inputs = append(b.Inputs, s)
		}
	}
	r.InputShapes = b.Inputs[first:len(b.Inputs):len(b.Inputs)]
}

// setShapeTexts reads shapes as texts. They mean what they mean as an attribute.
func setShapeTexts(c *column, r *rows.Row, cells []cell) {
	if cells[0].def < c.leaf.lists[0]-1 {
		return
	}
	c.texts.Reset()
	c.texts.Str(op.KeyName, "shapes")
	list := c.texts.BeginList(op.KeyInputShapes)
	for _, p := range cells {
		switch {
		case p.def < c.leaf.lists[0]:
		case p.v == nil:
			list.Null()
		default:
			list.Str(p.v.text)
			r.Warn |= p.v.warning
		}
	}
	list.End()
	e, _ := c.texts.Entry()
	r.Warn |= e.Warn
	r.InputShapes = e.Clone().InputShapes
}
