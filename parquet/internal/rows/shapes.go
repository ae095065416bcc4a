package rows

import (
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// outputShape reads a list of dimensions, or a shape as text.
func outputShape(f *Form) Use {
	if f.MaxRep != 1 {
		return one(op.WarnBadShape, named(ParseShape), func(r *Row, m *Meaning) {
			s := m.named.(ShapeText)
			r.OutputShape, r.OutputCut = s.Shape, s.Cut
		})(f)
	}
	return Use{Translate: integer(op.Dynamic, 0), List: func(r *Row, cells []Cell) {
		r.OutputShape, r.OutputCut = shape(r, cells, f.Lists[0])
	}}
}

// inputShapes reads a list of lists of dimensions, a list of shapes as text, or one text
// for all.
func inputShapes(f *Form) Use {
	switch {
	case f.MaxRep == 2:
		return Use{Translate: integer(op.Dynamic, 0), List: func(r *Row, cells []Cell) { setInputShapes(r, cells, f.Lists) }}
	case f.MaxRep > 2 || !f.Text:
		return passing(op.WarnBadShape)
	case f.MaxRep == 1:
		return Use{Translate: text, List: func(r *Row, cells []Cell) { setShapeTexts(r, cells, f.Lists[0]) }}
	}
	return one(op.WarnBadShape, parseShapes, func(r *Row, m *Meaning) { r.InputShapes = m.named.([]op.Shape) })(f)
}

// shape returns a shape of the dimensions in cells, nil for one that is null or has
// something else than dimensions. cut tells that it has more than are read. An element of
// the list is at level def.
func shape(r *Row, cells []Cell, def int32) (s op.Shape, cut bool) {
	dims := r.Batch.Dims
	start, bad := len(dims), false
	for _, p := range cells {
		switch {
		case p.Def < def:
		case p.Value == nil || !p.Value.ok:
			bad = true
		case len(dims)-start == op.MaxRank:
			cut = true
		default:
			dims = append(dims, p.Value.number)
		}
	}
	r.Batch.Dims = dims
	switch {
	case cells[0].Def < def-1:
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
func setShapeTexts(r *Row, cells []Cell, def int32) {
	if cells[0].Def < def-1 {
		return
	}
	texts := r.Batch.texts
	texts.Reset()
	texts.Str(attrkey.Name, "shapes")
	list := []byte{'['}
	for _, p := range cells {
		if p.Def < def {
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		if p.Value == nil {
			list = append(list, "null"...)
			continue
		}
		list = jsontext.AppendString(list, p.Value.text)
		r.Warn |= p.Value.warning
	}
	texts.SetList(texts.Target(attrkey.InputShapes), append(list, ']'))
	e, _ := texts.Entry()
	r.Warn |= e.Warn
	r.InputShapes = e.Clone().InputShapes
}
