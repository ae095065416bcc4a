package decode

import (
	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// Field reads the value of the member called name into the entry, and reports whether there is such a member. Of equal
// names the last wins. A value of a wrong type is unknown, with a warning.
func (d *Decoder) Field(name []byte) bool {
	c := find(opfields.Entry, name, &d.next)
	if c == nil {
		return false
	}
	e := &d.Entry
	switch at := c.At.(type) {
	case func(*op.Entry) *op.Int:
		*at(e) = d.known(c.Signed, c.Bad())
		switch c.Name {
		case "output_elements":
			d.has |= hasElements
		case "memory_bytes":
			d.has |= hasMemory
		}
	case func(*op.Entry) *string:
		kind := d.Lex.Peek()
		*at(e) = d.text()
		switch c.Name {
		case "device_id":
			e.EmptyDevice = kind == '"' && e.DeviceID == ""
		case "error":
			e.Failed = kind != 'n'
		}
	case func(*op.Entry) *[]op.Shape:
		e.InputShapes = d.shapes()
	case func(*op.Entry) *op.Shape:
		var cut bool
		e.OutputShape, cut = d.shape()
		d.has.set(hasCutOutput, cut)
	case func(*op.Entry) *[]op.DType:
		e.InputDTypes = d.inputDTypes()
	case func(*op.Entry) *[]op.Attr:
		d.attrs = d.Attributes(d.attrs[:0])
		e.Attrs = d.attrs
	case func(*op.Entry) *[]op.Link:
		e.Links = d.decodeLinks()
	case func(*op.Entry) **op.Extra:
		e.Extra = d.decodeExtra()
	case func(*op.Entry) *op.Warning:
		e.Warn |= d.warnings()
	case func(*op.Entry) **op.Collective:
		e.Collective = d.collective()
	default:
		switch c.Name {
		case "duration_us":
			d.durationMicros()
		case "duration_ns":
			if n := d.Integer(op.WarnBadValue); n.Known {
				e.Duration = n.V
				d.has |= hasDurationNS | hasDuration
			}
		case "kind_rule":
			var ok bool
			e.KindRule, ok = op.ParseKindRule(d.text())
			d.has.set(hasRule, ok)
		default:
			read(d, c, e)
		}
	}
	return true
}

// find returns the field called name, or nil. It starts behind the field found before: most members come in order.
func find[T any](columns []opfields.Field[T], name []byte, next *int) *opfields.Field[T] {
	for range columns {
		if *next >= len(columns) {
			*next = 0
		}
		c := &columns[*next]
		if *next++; c.Name == string(name) {
			return c
		}
	}
	return nil
}

// read reads a value of a field into v: an integer, a text, a name, an id or a number.
func read[T any](d *Decoder, c *opfields.Field[T], v *T) {
	switch at := c.At.(type) {
	case func(*T) *op.Int:
		*at(v) = d.known(c.Signed, c.Bad())
	case func(*T) *string:
		*at(v) = d.text()
	case func(*T) opfields.Name:
		word := d.text()
		d.Entry.Warn |= at(v).SetName(word)
	case func(*T) []byte:
		d.id(at(v), c.Zero)
	case func(*T) *int64:
		*at(v) = d.amount(c.Bad()).V
	case func(*T) *float64:
		*at(v) = d.adjustedCount()
	}
}

// durationMicros reads duration_us. duration_ns takes precedence over it, in any order.
func (d *Decoder) durationMicros() {
	var ns int64
	var ok bool
	switch c := d.Lex.Peek(); {
	case '0' <= c && c <= '9' || c == '-':
		ns, ok = d.Lex.Micros()
	case c == '"':
		ns, ok = lexer.ParseMicros(d.Lex.Str())
	case d.Lex.Null():
		// the reference recorder's NaN
		d.Entry.Warn |= op.WarnNonFinite
		d.has |= hasDuration
		return
	default:
		d.Lex.Skip()
	}
	switch {
	case !ok:
		d.Wrong("duration_us is not a duration that fits 64 bits of nanoseconds")
	case d.has&hasDurationNS == 0:
		d.Entry.Duration = ns
	}
	d.has |= hasDuration
}

func (d *Decoder) inputDTypes() []op.DType {
	l := &d.Lex
	if !d.Is('[') {
		return nil
	}
	d.dtypes = d.dtypes[:0]
	for l.Array(); l.More(); {
		t, _ := op.ParseDType(d.text())
		if len(d.dtypes) == op.MaxInputs {
			d.Entry.Warn |= op.WarnShapeTruncated
			continue
		}
		d.dtypes = append(d.dtypes, t)
	}
	if d.dtypes == nil {
		d.dtypes = make([]op.DType, 0, 4)
	}
	return d.dtypes
}

func (d *Decoder) adjustedCount() float64 {
	text, ok := d.Number()
	if !ok {
		if !d.Lex.Null() {
			d.Lex.Skip()
			d.Entry.Warn |= op.WarnBadValue
		}
		return 0
	}
	f, ok := lexer.ParseFloat(text)
	if !ok || f < 1 {
		d.Entry.Warn |= op.WarnBadValue
		return 0
	}
	return f
}

func (d *Decoder) warnings() op.Warning {
	l := &d.Lex
	var all op.Warning
	if !d.Is('[') {
		return 0
	}
	for l.Array(); l.More(); {
		w, _ := op.ParseWarning(d.text()) // a newer version may have more
		all |= w
	}
	return all
}

func (d *Decoder) collective() *op.Collective {
	l := &d.Lex
	if !d.Is('{') {
		return nil
	}
	d.coll = op.Collective{}
	next := 0
	for l.Object(); l.More(); {
		if c := find(opfields.Collective, l.Key(), &next); c != nil {
			read(d, c, &d.coll)
		} else {
			l.Skip()
		}
	}
	return &d.coll
}

// shape reads a list of dimensions; null is unknown. cut reports more than MaxRank of them.
func (d *Decoder) shape() (s op.Shape, cut bool) {
	l := &d.Lex
	if !d.is('[', op.WarnBadShape) {
		return nil, false
	}
	start := len(d.dims)
	good := true
	for l.Array(); l.More(); {
		v := d.Integer(0)
		switch {
		case !v.Known || v.V < op.Dynamic:
			good = false
		case len(d.dims)-start == op.MaxRank:
			cut = true
		default:
			d.dims = append(d.dims, v.V)
		}
	}
	if !good {
		d.Entry.Warn |= op.WarnBadShape
		return nil, false
	}
	if cut {
		d.Entry.Warn |= op.WarnShapeTruncated
	}
	if d.dims == nil {
		d.dims = make([]int64, 0, 16)
	}
	// If dims grows later, this shape keeps its memory.
	return op.Shape(d.dims[start:len(d.dims):len(d.dims)]), cut
}

func (d *Decoder) shapes() []op.Shape {
	l := &d.Lex
	if !d.is('[', op.WarnBadShape) {
		return nil
	}
	d.inputs = d.inputs[:0]
	for l.Array(); l.More(); {
		s, _ := d.shape()
		if len(d.inputs) == op.MaxInputs {
			d.Entry.Warn |= op.WarnShapeTruncated
			continue
		}
		d.inputs = append(d.inputs, s)
	}
	if d.inputs == nil {
		d.inputs = make([]op.Shape, 0, 4)
	}
	return d.inputs
}
