package rows

import (
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// outputShape reads a list of dimensions, or a shape as text.
func outputShape(f *Form) Use {
	if f.MaxRep != 1 {
		return one(op.WarnBadShape, shapeText(attrkey.OutputShape),
			func(r *Row, m *Meaning) { r.OutputShape = m.shapes.OutputShape })(f)
	}
	return Use{Translate: integer(op.Dynamic, 0),
		List: func(r *Row, cells []Cell) { r.OutputShape = shape(r, cells, f.Lists[0]) }}
}

// inputShapes reads a list of lists of dimensions, or all shapes in one text.
func inputShapes(f *Form) Use {
	switch {
	case f.MaxRep == 2:
		return Use{Translate: integer(op.Dynamic, 0),
			List: func(r *Row, cells []Cell) { setInputShapes(r, cells, f.Lists) }}
	case !f.Text:
		return passing(op.WarnBadShape)
	}
	return one(op.WarnBadShape, shapeText(attrkey.InputShapes),
		func(r *Row, m *Meaning) { r.InputShapes = m.shapes.InputShapes })(f)
}

// shape returns the shape in cells; nil for null, for other values than dimensions, and for too many
// dimensions. def is the definition level of an element.
func shape(r *Row, cells []Cell, def int32) op.Shape {
	if cells[0].Def < def-1 {
		return nil
	}
	dims := r.Batch.Dims
	start := len(dims)
	for _, p := range cells {
		switch {
		case p.Def < def:
		case p.Value == nil || !p.Value.ok:
			r.Warn |= op.WarnBadShape
			return nil
		case len(dims)-start == op.MaxRank:
			r.Warn |= op.WarnShapeTruncated
			return nil
		default:
			dims = append(dims, p.Value.number)
		}
	}
	r.Batch.Dims = dims
	// A growing Dims leaves this shape in its old memory.
	return op.Shape(dims[start:len(dims):len(dims)])
}

func setInputShapes(r *Row, cells []Cell, lists []int32) {
	b := r.Batch
	first := len(b.Inputs)
	if cells[0].Def < lists[0]-1 {
		return
	}
	for len(cells) > 0 && cells[0].Def >= lists[0] {
		n := 1
		for n < len(cells) && cells[n].Rep == 2 {
			n++
		}
		s := shape(r, cells[:n], lists[1])
		if cells = cells[n:]; len(b.Inputs)-first == op.MaxInputs {
			r.Warn |= op.WarnShapeTruncated
		} else {
			b.Inputs = append(b.Inputs, s)
		}
	}
	r.InputShapes = b.Inputs[first:len(b.Inputs):len(b.Inputs)]
}

// shapeText translates a text with one or all shapes, like the attribute attr.
func shapeText(attr string) translate {
	return func(b *Batch, f *Form, v Value, to *Meaning) {
		text(b, f, v, to)
		b.texts.Reset()
		b.texts.Str(attrkey.Name, "shapes")
		b.texts.Str(attr, to.text)
		e, _ := b.texts.Entry()
		to.shapes = e.Clone()
		to.warning |= e.Warn
	}
}
