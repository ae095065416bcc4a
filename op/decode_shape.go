package op

// shape reads a list of dimensions; null is unknown. cut tells that there were
// more than MaxRank.
func (d *decoder) shape() (s Shape, cut bool) {
	l := &d.lex
	if l.Peek() != '[' {
		if !l.Null() {
			d.badShape()
			l.Skip()
		}
		return nil, false
	}
	start, good := len(d.dims), true
	for l.Array(); l.More(); {
		v := d.integer(0)
		switch {
		case !v.Known || v.V < Dynamic:
			good = false
		case len(d.dims)-start == MaxRank:
			cut = true
		default:
			d.dims = append(d.dims, v.V)
		}
	}
	if !good {
		d.badShape()
		return nil, false
	}
	if cut {
		d.entry.Warn |= WarnShapeTruncated
	}
	if d.dims == nil {
		d.dims = make([]int64, 0, 16)
	}
	// Where dims grows later, this shape keeps the memory it had.
	return Shape(d.dims[start:len(d.dims):len(d.dims)]), cut
}

// outputShape reads the shape of the output.
func (d *decoder) outputShape() Shape {
	s, cut := d.shape()
	d.has.set(hasCutOutput, cut)
	return s
}

func (d *decoder) badShape() { d.entry.Warn |= WarnBadShape }

// shapes reads a list of shapes; null is unknown.
func (d *decoder) shapes() []Shape {
	l := &d.lex
	if l.Peek() != '[' {
		if !l.Null() {
			d.badShape()
			l.Skip()
		}
		return nil
	}
	d.inputs = d.inputs[:0]
	for l.Array(); l.More(); {
		s, _ := d.shape()
		if len(d.inputs) == MaxInputs {
			d.entry.Warn |= WarnShapeTruncated
			continue
		}
		d.inputs = append(d.inputs, s)
	}
	if d.inputs == nil {
		d.inputs = make([]Shape, 0, 4)
	}
	return d.inputs
}
