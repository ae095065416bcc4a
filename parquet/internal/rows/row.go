// Package rows makes records from the rows of tables with the columns of package parquet. Column readers
// fill rows; Finish derives missing fields and checks the required ones.
package rows

import (
	"errors"
	"math"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// Row is a row of the table under construction.
type Row struct {
	// Entry also has the fields that other records share with entries.
	op.Entry
	Record string // the value of the column record; "" if the file lacks the column
	Rest   string // the value of the column extra; see opfile.AppendRest
	// Batch backs the slices of the row.
	Batch  *Batch
	others *Others // nil for an entry without a collective

	// StatedFailed is the value of the column failed, beside the error column. HasRule and HasDuration are
	// set with the fields.
	StatedFailed, HasRule, HasDuration bool
}

// Others has the fields of other records.
type Others struct {
	Collective op.Collective
	Span       op.Span
	Resource   op.Resource
	Gap        op.Gap
	Batch      op.Batch
}

// Batch holds rows that are read together, column by column, and backs their slices and pointers. The next
// batch reuses it.
type Batch struct {
	rows   []Row
	others []Others // of the rows so far
	Inputs []op.Shape
	Dims   []int64
	DTypes []op.DType
	Attrs  []op.Attr
	Links  []op.Link

	kinds   opmodel.KindCache
	attrs   opmodel.AttrIndex
	strings intern.Table
	texts   *attrmap.Builder // parses shapes stored as text
}

// Size is the number of rows in a batch: enough to make switching columns cheap, and few enough for the
// processor's cache.
const Size = 256

// NewBatch returns a batch.
func NewBatch() *Batch {
	// Empty lists need slices that are not nil.
	return &Batch{rows: make([]Row, Size), others: make([]Others, 0, Size), Inputs: []op.Shape{}, Dims: []int64{},
		texts: attrmap.NewBuilder(nil)}
}

// Reset returns n empty rows, at most [Size]. It invalidates the rows before.
func (b *Batch) Reset(n int) []Row {
	b.Inputs, b.Dims, b.DTypes, b.Attrs, b.Links = b.Inputs[:0], b.Dims[:0], b.DTypes[:0], b.Attrs[:0], b.Links[:0]
	b.others = b.others[:0]
	rows := b.rows[:n]
	clear(rows)
	for i := range rows {
		rows[i].Batch = b
	}
	return rows
}

// More returns the fields of other records.
func (r *Row) More() *Others {
	if b := r.Batch; r.others == nil {
		b.others = append(b.others, Others{}) // within its capacity, one for each row
		r.others = &b.others[len(b.others)-1]
	}
	return r.others
}

// Finish makes a record of a row; the record is valid as long as the row. given says which columns the
// file has: a null value was unknown to the writer, and a missing column may be derived from others.
func (r *Row) Finish(given opfile.Given) (op.Record, error) {
	switch r.Record {
	case "entry", "": // without the column record all rows are operations
		if err := r.finishEntry(given); err != nil {
			return op.Record{}, err
		}
		return op.Record{Entry: &r.Entry}, nil
	case "span":
		return op.Record{Span: r.finishSpan()}, nil
	case "resource":
		resource := &r.More().Resource
		r.finishMore()
		resource.Service = r.Service
		resource.Rank = r.Rank
		resource.Attrs = r.Attrs
		return op.Record{Resource: resource}, nil
	case "gap":
		return op.Record{Gap: &r.More().Gap}, nil
	case "batch":
		return op.Record{Batch: &r.More().Batch}, nil
	}
	return op.Record{Skipped: op.Skipped{Reason: op.SkipUnknownRecord, N: 1}}, nil
}

// finishEntry checks the required fields of an entry and derives others.
func (r *Row) finishEntry(given opfile.Given) error {
	switch {
	case r.Operation == "":
		return errors.New("an entry without an operation")
	case !r.HasDuration:
		return errors.New("an entry without a duration")
	}
	r.finishMore()
	given.Rule = r.HasRule
	opfile.Finish(&r.Entry, given, &r.Batch.kinds)
	return nil
}

// finishSpan copies the shared fields from the entry to a span.
func (r *Row) finishSpan() *op.Span {
	s := &r.More().Span
	s.TraceID = r.TraceID
	s.SpanID = r.SpanID
	s.ParentSpanID = r.ParentSpanID
	s.Start = r.Start
	s.Duration = max(0, r.Duration)
	s.Service = r.Service
	r.finishMore()
	s.Attrs = r.Attrs
	s.Links = r.Links
	s.Extra = r.Extra
	s.Failed = r.Failed
	if s.Start.V > math.MaxInt64-s.Duration {
		s.Start = op.Int{}
	}
	return s
}

// finishMore completes the shared fields: links with ids, attributes without duplicate keys, and the rest.
// Attributes of a duplicate key keep the last value.
func (r *Row) finishMore() {
	r.Failed = r.Failed || r.StatedFailed
	all := r.Attrs
	links := r.Links
	r.Attrs, r.Links = r.Attrs[:0], r.Links[:0]
	for _, a := range all {
		r.Attrs = r.Batch.attrs.Set(r.Attrs, a)
	}
	for _, l := range links {
		r.Links = opmodel.AppendLink(r.Links, l, &r.Warn)
	}
	if len(r.Attrs) == 0 {
		r.Attrs = nil
	}
	if len(r.Links) == 0 {
		r.Links = nil
	}
	if r.Rest != "" {
		x, w := entries.DecodeRest(r.Rest, r.Attrs, r.Links)
		r.Extra = x
		r.Warn |= w
	}
}

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
	return func(b *Batch, f *Form, v *Value, to *Meaning) {
		text(b, f, v, to)
		b.texts.Reset()
		b.texts.Str(attrkey.Name, "shapes")
		b.texts.Str(attr, to.text)
		e, _ := b.texts.Entry()
		to.shapes = e.Clone()
		to.warning |= e.Warn
	}
}
