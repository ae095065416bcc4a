package arrow

import (
	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/op"
)

// shape translates a list of dimensions, or a shape as text.
func shape(x *translator, a *array, i int) (s rows.ShapeText, warning op.Warning, ok bool) {
	if !a.isList() {
		if !a.isText() {
			return s, op.WarnBadShape, false
		}
		name, warning, _ := text(x, a, i)
		s, w := rows.ParseShape(name)
		return s, warning | w, true
	}
	m := x.memory
	first, rank := len(m.dims), 0
	if dims, ok := x.dims(a, i); ok {
		m.dims = dims
		s.Shape = m.dims[first:len(m.dims):len(m.dims)]
		return s, 0, true
	}
	x.each(a, i, func(_ int, d *array, i int) {
		n, ok := int64(0), false
		if d != nil {
			n, ok = x.number(d, i)
		}
		if rank++; !ok || n < op.Dynamic {
			warning |= op.WarnBadShape
		} else if rank <= op.MaxRank {
			m.dims = append(m.dims, n)
		}
	})
	if warning != 0 {
		return rows.ShapeText{}, warning, false
	}
	s.Shape = m.dims[first:len(m.dims):len(m.dims)]
	if s.Cut = rank > op.MaxRank; s.Cut {
		warning = op.WarnShapeTruncated
	}
	return s, warning, true
}

// dims appends the elements of a list to the dimensions in memory, if it is a list of
// integers as they mostly are.
func (x *translator) dims(a *array, i int) (dims []int64, ok bool) {
	child, start, end := x.list(a, i)
	if x.err != nil || child.valid != nil || child.nulls > 0 || end-start > op.MaxRank {
		return nil, false
	}
	values := child
	if child.dictionary != nil {
		if values = child.dictionary.only(); values == nil || values.valid != nil || values.nulls > 0 {
			return nil, false
		}
	}
	if t := values.field.Type; t.Kind != arrowipc.Int || !t.Signed || t.Bits != 64 {
		return nil, false
	}
	dims = x.memory.dims
	for at := start; at < end; at++ {
		k := uint64(at)
		if values != child {
			k = child.shortIndex(at)
		}
		if k >= uint64(values.n) {
			return nil, false
		}
		d := int64At(values.data, int(k))
		if d < op.Dynamic {
			return nil, false
		}
		dims = append(dims, d)
	}
	return dims, true
}

// shapes translates lists of shapes, or one text for all.
func shapes(x *translator, a *array, i int) (list []op.Shape, warning op.Warning, ok bool) {
	if !a.isList() {
		if !a.isText() {
			return nil, op.WarnBadShape, false
		}
		name, warning, _ := text(x, a, i)
		e := x.shapesOf(func() { x.texts.Str(op.KeyInputShapes, name) })
		return e.InputShapes, warning | e.Warn, true
	}
	if isTexts(a) {
		return x.shapeTexts(a, i)
	}
	m := x.memory
	first := len(m.shapes)
	child, start, end := x.list(a, i)
	for k := start; k < end; k++ {
		if k-start >= op.MaxInputs {
			warning |= op.WarnShapeTruncated
			break
		}
		var one rows.ShapeText
		if s, at, ok := child.at(k); ok {
			var w op.Warning
			one, w, _ = shape(x, s, at)
			warning |= w
		}
		m.shapes = append(m.shapes, one.Shape)
	}
	return m.shapes[first:len(m.shapes):len(m.shapes)], warning, true
}

// isTexts reports whether the elements of a list are texts.
func isTexts(a *array) bool {
	child := &a.children[0]
	if d := child.dictionary; d != nil && len(d.chunks) > 0 {
		child = d.chunks[0].values
	}
	return child.isText()
}

// shapeTexts translates a list of texts. They mean what they mean as an attribute.
func (x *translator) shapeTexts(a *array, i int) ([]op.Shape, op.Warning, bool) {
	warning := op.Warning(0)
	e := x.shapesOf(func() {
		list := x.texts.BeginList(op.KeyInputShapes)
		x.each(a, i, func(_ int, s *array, i int) {
			if s == nil {
				list.Null()
				return
			}
			name, w, _ := text(x, s, i)
			warning |= w
			list.Str(name)
		})
		list.End()
	})
	return e.InputShapes, warning | e.Warn, true
}

// shapesOf returns an entry with the input shapes that set sets.
func (x *translator) shapesOf(set func()) *op.Entry {
	x.texts.Reset()
	x.texts.Str(op.KeyName, "shapes")
	set()
	e, _ := x.texts.Entry()
	return e.Clone()
}

// dtypes translates lists of element types.
func dtypes(x *translator, a *array, i int) (list []op.DType, warning op.Warning, ok bool) {
	if !a.isList() {
		return nil, op.WarnBadValue, false
	}
	list = []op.DType{}
	x.each(a, i, func(n int, t *array, i int) {
		if n >= op.MaxInputs {
			warning |= op.WarnShapeTruncated
			return
		}
		var one op.DType
		if t != nil {
			name, w, _ := text(x, t, i)
			one, _ = rows.ParseInputDType(name)
			warning |= w
		}
		list = append(list, one)
	})
	return list, warning, true
}
