package parquet

import (
	"errors"

	"github.com/optrace/optrace/op"
)

// listLevel is the repetition level of the elements of a list, innerLevel that
// of the elements of a list in it.
const (
	listLevel  = 1
	innerLevel = 2
)

// has reports whether the value that c is at lies in an element of the list of
// a level; where it does not, empty tells whether that list is empty, and not
// null.
func (c *cursor) has(level int) (has, empty bool) {
	at := c.leaf.lists[level-1]
	return c.nextDef >= at, c.nextDef == at-1
}

var errNoList = errors.New("elements of a list that has none")

// elements calls f for each value of a list. It returns false for a list that
// is null.
func (r *row) elements(c *cursor, f func(v *value)) (known bool, err error) {
	has, empty := c.has(listLevel)
	for {
		v, err := c.take()
		if err != nil {
			return false, c.wrap(err)
		}
		if has {
			f(v)
		}
		if more, err := c.more(); err != nil || !more {
			return has || empty, err
		}
	}
}

// shape reads a column of a list of dimensions, or of a shape as text.
func (r *row) shape(c *cursor) (s op.Shape, cut bool, err error) {
	if c.leaf.maxRep == 0 {
		return r.shapeText(c)
	}
	if c.leaf.maxRep > listLevel {
		return nil, false, r.pass(c, op.WarnBadShape)
	}
	start, bad := len(r.dims), false
	known, err := r.elements(c, func(v *value) { r.dimension(c, v, start, &bad, &cut) })
	if err != nil || !known {
		return nil, false, err
	}
	return r.endShape(start, bad, cut), cut, nil
}

// dimension adds a dimension to the shape that starts at start.
func (r *row) dimension(c *cursor, v *value, start int, bad, cut *bool) {
	var d int64
	ok := false
	if v != nil {
		d, ok = c.leaf.integer(v)
	}
	switch {
	case !ok || d < op.Dynamic:
		*bad = true
	case len(r.dims)-start == op.MaxRank:
		*cut = true
	default:
		r.dims = append(r.dims, d)
	}
}

func (r *row) endShape(start int, bad, cut bool) op.Shape {
	if bad {
		r.warn(op.WarnBadShape)
		return nil
	}
	if cut {
		r.warn(op.WarnShapeTruncated)
	}
	if r.dims == nil {
		r.dims = make([]int64, 0, 16)
	}
	// Where dims grows later, this shape keeps the memory it had.
	return op.Shape(r.dims[start:len(r.dims):len(r.dims)])
}

func (r *row) shapeText(c *cursor) (s op.Shape, cut bool, err error) {
	v, err := r.one(c, op.WarnBadShape)
	if v == nil || err != nil {
		return nil, false, err
	}
	s, ok := op.ParseShape(r.text(c.leaf, v))
	if !ok {
		r.warn(op.WarnBadShape)
		return nil, false, nil
	}
	if cut = len(s) > op.MaxRank; cut {
		s = s[:op.MaxRank]
		r.warn(op.WarnShapeTruncated)
	}
	return s, cut, nil
}

// shapes reads a column of a list of lists of dimensions, of a list of shapes
// as text, or of one text for all.
func (r *row) shapes(c *cursor) ([]op.Shape, error) {
	switch {
	case c.leaf.maxRep == innerLevel:
		return r.nestedShapes(c)
	case c.leaf.maxRep > innerLevel || !c.leaf.isText():
		return nil, r.pass(c, op.WarnBadShape)
	}
	// The text means what it means as an attribute.
	b := r.texts
	b.Reset()
	b.Str(op.KeyName, "shapes")
	if c.leaf.maxRep == 0 {
		v, err := r.one(c, op.WarnBadShape)
		if v == nil || err != nil {
			return nil, err
		}
		b.Str(op.KeyInputShapes, r.text(c.leaf, v))
	} else {
		list := b.BeginList(op.KeyInputShapes)
		known, err := r.elements(c, func(v *value) {
			if v == nil {
				list.Other()
			} else {
				list.Str(r.text(c.leaf, v))
			}
		})
		list.End()
		if err != nil || !known {
			return nil, err
		}
	}
	e, _ := b.Entry()
	r.warn(e.Warn)
	return e.InputShapes, nil
}

func (r *row) nestedShapes(c *cursor) ([]op.Shape, error) {
	has, empty := c.has(listLevel)
	if !has {
		// Null, or a list without elements.
		if _, err := c.take(); err != nil {
			return nil, c.wrap(err)
		}
		more, err := c.more()
		switch {
		case err != nil:
			return nil, err
		case more:
			return nil, c.wrap(errNoList)
		case empty:
			return r.listOfShapes(), nil
		}
		return nil, nil
	}
	for {
		s, more, err := r.innerShape(c)
		if err != nil {
			return nil, err
		}
		if len(r.inputs) == op.MaxInputs {
			r.warn(op.WarnShapeTruncated)
		} else {
			r.inputs = append(r.inputs, s)
		}
		if !more {
			return r.listOfShapes(), nil
		}
	}
}

// listOfShapes returns the inputs, which are not nil.
func (r *row) listOfShapes() []op.Shape {
	if r.inputs == nil {
		r.inputs = make([]op.Shape, 0, 4)
	}
	return r.inputs
}

// innerShape reads an element of a list of shapes, and reports whether there
// is another.
func (r *row) innerShape(c *cursor) (s op.Shape, more bool, err error) {
	start, bad, cut := len(r.dims), false, false
	known := false
	for {
		has, empty := c.has(innerLevel)
		v, err := c.take()
		if err != nil {
			return nil, false, c.wrap(err)
		}
		if has {
			r.dimension(c, v, start, &bad, &cut)
		}
		known = known || has || empty
		more, err = c.more()
		if err != nil {
			return nil, false, err
		}
		if !more || c.nextRep == listLevel {
			break
		}
	}
	if !known {
		return nil, more, nil
	}
	return r.endShape(start, bad, cut), more, nil
}

// inputDTypes reads a column of a list of element types.
func (r *row) inputDTypes(c *cursor) ([]op.DType, error) {
	if c.leaf.maxRep != listLevel {
		return nil, r.pass(c, op.WarnBadValue)
	}
	known, err := r.elements(c, func(v *value) {
		t := op.DType("")
		if v != nil {
			t, _ = op.ParseDType(r.text(c.leaf, v))
		}
		if len(r.dtypes) == op.MaxInputs {
			r.warn(op.WarnShapeTruncated)
			return
		}
		r.dtypes = append(r.dtypes, t)
	})
	if err != nil || !known {
		return nil, err
	}
	if r.dtypes == nil {
		r.dtypes = make([]op.DType, 0, 4)
	}
	return r.dtypes, nil
}

// warnings reads a column of a list of names of warnings.
func (r *row) warnings(c *cursor) error {
	if c.leaf.maxRep != listLevel {
		return r.pass(c, op.WarnBadValue)
	}
	_, err := r.elements(c, func(v *value) {
		if v != nil {
			w, _ := op.ParseWarning(r.text(c.leaf, v)) // a newer version may know more of them
			r.warn(w)
		}
	})
	return err
}

// maxAttrs bounds the attributes of a row. The SDK's limit is a fraction of it.
const maxAttrs = 1024

// attrKeys and attrValues read the two columns of a map, which have the same
// number of values.
func (r *row) attrKeys(c *cursor) error {
	if c.leaf.maxRep != listLevel {
		return r.pass(c, op.WarnBadValue)
	}
	_, err := r.elements(c, func(v *value) {
		if len(r.attrs) == maxAttrs {
			r.warn(op.WarnBadValue)
			return
		}
		key := ""
		if v != nil {
			key = r.text(c.leaf, v)
		}
		r.attrs = append(r.attrs, op.Attr{Key: key})
	})
	return err
}

func (r *row) attrValues(c *cursor) error {
	if c.leaf.maxRep != listLevel {
		return r.pass(c, op.WarnBadValue)
	}
	i := 0
	_, err := r.elements(c, func(v *value) {
		if v != nil && i < len(r.attrs) {
			r.attrs[i].Value = r.text(c.leaf, v)
		}
		i++
	})
	return err
}
