package parquet

import (
	"github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
)

// Definition levels. A value of an optional column is at level 1, that of an
// optional column in an optional group at 2. Of an optional list, 1 is the
// empty list and 2 an element; a list in a list that may be null adds the same
// again.
const (
	given          = 1
	givenInGroup   = 2
	emptyList      = 1
	inList         = 2
	emptyInnerList = 3
	inInnerList    = 4
	givenInList    = 3 // an optional column of a group in a list
)

// rowBuffer collects rows. A column that a row does not set is null.
type rowBuffer struct {
	columns []columnValues
	leaves  leaves
	rows    int
	// text backs the values that are text. Where it grows, values keep the
	// memory they had.
	text []byte
	rest []byte // of a row
	// size is how many bytes the values since the last row group take, roughly.
	size int64
}

// valueBytes is counted for each value besides its text.
const valueBytes = 8

// end completes a row: the columns that it has not set are null.
func (b *rowBuffer) end() {
	b.rows++
	for i := range b.columns {
		if c := &b.columns[i]; c.rows < b.rows {
			c.values = append(c.values, c.null)
			c.rows = b.rows
		}
	}
}

// flush hands the rows to the writers of the columns.
func (b *rowBuffer) flush() error {
	defer b.reset()
	for i := range b.columns {
		c := &b.columns[i]
		if len(c.values) == 0 {
			continue
		}
		if _, err := c.w.WriteRowValues(c.values); err != nil {
			return err
		}
	}
	return nil
}

// reset forgets the rows.
func (b *rowBuffer) reset() {
	b.rows = 0
	b.text = b.text[:0]
	for i := range b.columns {
		c := &b.columns[i]
		clear(c.values) // they refer to text
		c.values, c.rows = c.values[:0], 0
	}
}

// add adds a value to a column of the current row, at a repetition and a
// definition level.
func (b *rowBuffer) add(col int, v parquet.Value, rep, def int) {
	c := &b.columns[col]
	c.values = append(c.values, v.Level(rep, def, col))
	c.rows = b.rows + 1
	b.size += valueBytes
}

// bytes returns a value that is a copy of s.
func (b *rowBuffer) bytes(s string) parquet.Value {
	start := len(b.text)
	b.text = append(b.text, s...)
	b.size += int64(len(s))
	return parquet.ByteArrayValue(b.text[start:len(b.text):len(b.text)])
}

// strAt sets an optional column of text, at a definition level, unless that is empty.
func (b *rowBuffer) strAt(col int, s string, def int) {
	if s != "" {
		b.add(col, b.bytes(s), 0, def)
	}
}

// intAt sets an optional column of integers, unless n is not known.
func (b *rowBuffer) intAt(col int, n op.Int, def int) {
	if n.Known {
		b.add(col, parquet.Int64Value(n.V), 0, def)
	}
}

func (b *rowBuffer) bool(col int, v bool) { b.add(col, parquet.BooleanValue(v), 0, given) }

// id sets a column to an id in hexadecimal, unless that is zero.
func (b *rowBuffer) id(col int, id []byte) {
	for _, octet := range id {
		if octet != 0 {
			b.add(col, b.hex(id), 0, given)
			return
		}
	}
}

// hex returns a value that is an id in hexadecimal.
func (b *rowBuffer) hex(id []byte) parquet.Value {
	const digits = "0123456789abcdef"
	start := len(b.text)
	for _, octet := range id {
		b.text = append(b.text, digits[octet>>4], digits[octet&15])
	}
	b.size += int64(len(b.text) - start)
	return parquet.ByteArrayValue(b.text[start:len(b.text):len(b.text)])
}

// shape sets a column of a list of dimensions, unless s is not known.
func (b *rowBuffer) shape(col int, s op.Shape) {
	if s != nil && len(s) == 0 {
		b.add(col, parquet.NullValue(), 0, emptyList)
	}
	for i, d := range s {
		b.add(col, parquet.Int64Value(d), min(i, 1), inList)
	}
}

// shapes sets a column of a list of shapes, unless it is nil.
func (b *rowBuffer) shapes(col int, shapes []op.Shape) {
	if shapes != nil && len(shapes) == 0 {
		b.add(col, parquet.NullValue(), 0, emptyList)
	}
	for i, s := range shapes {
		rep := min(i, 1)
		switch {
		case s == nil:
			b.add(col, parquet.NullValue(), rep, inList)
		case len(s) == 0:
			b.add(col, parquet.NullValue(), rep, emptyInnerList)
		}
		for _, d := range s {
			b.add(col, parquet.Int64Value(d), rep, inInnerList)
			rep = 2
		}
	}
}

// dtypes sets a column of a list of element types, unless it is nil.
func (b *rowBuffer) dtypes(col int, dtypes []op.DType) {
	if dtypes != nil && len(dtypes) == 0 {
		b.add(col, parquet.NullValue(), 0, emptyList)
	}
	for i, t := range dtypes {
		b.add(col, b.bytes(string(t)), min(i, 1), inList)
	}
}

// attrs sets the columns of the map of attributes, unless there are none.
func (b *rowBuffer) attrs(attrs []op.Attr) {
	for i, a := range attrs {
		b.add(b.leaves.attrs, b.bytes(a.Key), min(i, 1), inList)
		b.add(b.leaves.attrs+1, b.bytes(a.Value), min(i, 1), inList)
	}
}

// extra sets the column of what no other column holds, unless there is nothing.
func (b *rowBuffer) extra(attrs []op.Attr, links []op.Link, x *op.Extra) {
	b.rest = opfile.AppendRest(b.rest[:0], attrs, links, x)
	b.strAt(b.leaves.extra, string(b.rest), given)
}

// links sets the columns of the list of links, unless there are none.
func (b *rowBuffer) links(links []op.Link) {
	for i := range links {
		l := &links[i]
		rep := min(i, 1)
		b.add(b.leaves.links, b.hex(l.TraceID[:]), rep, inList)
		b.add(b.leaves.links+1, b.hex(l.SpanID[:]), rep, inList)
		if l.Weight.Known {
			b.add(b.leaves.links+2, parquet.Int64Value(l.Weight.V), rep, givenInList)
		} else {
			b.add(b.leaves.links+2, parquet.NullValue(), rep, inList)
		}
	}
}

// warnings sets the column of the warnings, unless there are none.
func (b *rowBuffer) warnings(col int, set op.Warning) {
	rep := 0
	for w := range set.All() {
		if name := w.String(); name != "" {
			b.add(col, b.bytes(name), rep, inList)
			rep = 1
		}
	}
}
