// Package rows makes records of the rows of tables whose columns are named as
// package parquet documents them. Readers of columns fill rows, and Finish fills in
// what follows from the rest and checks what an entry must have.
package rows

import (
	"errors"
	"math"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// Row is a row of the table while its columns are read, and what it may become.
type Row struct {
	// Entry also holds what other records have in common with it.
	op.Entry
	// Record is the value of the column record, "" where there is none.
	Record string
	// Rest is the value of the column extra, see opfile.AppendRest.
	Rest string
	// Batch is what the slices of the row may lie in.
	Batch  *Batch
	others *Others // nil for none

	// StatedFailed is the value of the column failed, beside what the column error
	// tells. HasRule and HasDuration tell that these are known.
	StatedFailed, HasRule, HasDuration bool
}

// Others is what a row may hold besides an entry.
type Others struct {
	Collective op.Collective
	Span       op.Span
	Resource   op.Resource
	Gap        op.Gap
	Batch      op.Batch
}

// Batch is a number of rows that are read together, column by column, and what
// their slices and pointers refer to. All of it is reused for the next ones.
type Batch struct {
	rows   []Row
	Inputs []op.Shape
	Dims   []int64
	DTypes []op.DType
	Attrs  []op.Attr
	Links  []op.Link

	kinds   opmodel.KindCache
	attrs   opmodel.AttrIndex
	strings intern.Table
	texts   *attrmap.Builder // reads shapes that are kept as text
}

// Size is how many rows are read together: many enough that turning from
// column to column costs little, few enough to stay in the processor's cache.
const Size = 256

// NewBatch returns a batch.
func NewBatch() *Batch {
	// Empty lists lie in slices that are not nil.
	return &Batch{rows: make([]Row, Size), Inputs: []op.Shape{}, Dims: []int64{}, texts: attrmap.NewBuilder(nil)}
}

// Reset returns n empty rows, at most [Size]. Those before are no longer valid.
func (b *Batch) Reset(n int) []Row {
	b.Inputs, b.Dims, b.DTypes, b.Attrs, b.Links = b.Inputs[:0], b.Dims[:0], b.DTypes[:0], b.Attrs[:0], b.Links[:0]
	rows := b.rows[:n]
	clear(rows)
	for i := range rows {
		rows[i].Batch = b
	}
	return rows
}

// More returns what the row holds besides an entry, to add to it.
func (r *Row) More() *Others {
	if r.others == nil {
		r.others = new(Others)
	}
	return r.others
}

// Finish makes a record of a row that has been read. It belongs to the row. given tells
// which columns the file has, where their absence matters: what is null was not known to
// the writer, what is missing may follow from others.
func (r *Row) Finish(given opfile.Given) (op.Record, error) {
	switch r.Record {
	case "entry", "": // a file without the column record holds operations only
		if err := r.finishEntry(given); err != nil {
			return op.Record{}, err
		}
		return op.Record{Entry: &r.Entry}, nil
	case "span":
		return op.Record{Span: r.finishSpan()}, nil
	case "resource":
		resource := &r.More().Resource
		r.finishMore()
		resource.Service, resource.Rank, resource.Attrs = r.Service, r.Rank, r.Attrs
		return op.Record{Resource: resource}, nil
	case "gap":
		return op.Record{Gap: &r.More().Gap}, nil
	case "batch":
		return op.Record{Batch: &r.More().Batch}, nil
	}
	return op.Record{Skipped: op.Skipped{Reason: op.SkipUnknownRecord, N: 1}}, nil
}

// finishEntry checks what an entry must have, and fills in what follows from
// what it says.
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

// finishSpan takes what spans and entries have in common from the entry.
func (r *Row) finishSpan() *op.Span {
	s := &r.More().Span
	s.TraceID, s.SpanID, s.ParentSpanID = r.TraceID, r.SpanID, r.ParentSpanID
	s.Start, s.Duration = r.Start, max(0, r.Duration)
	s.Service = r.Service
	r.finishMore()
	s.Attrs, s.Links, s.Extra, s.Failed = r.Attrs, r.Links, r.Extra, r.Failed
	if s.Start.V > math.MaxInt64-s.Duration {
		s.Start = op.Int{}
	}
	return s
}

// finishMore completes what entries and spans have in common: links that lead to a span, attributes, the last of
// equal keys, and what no other column holds of them. Of resources these are attributes.
func (r *Row) finishMore() {
	r.Failed = r.Failed || r.StatedFailed
	all, links := r.Attrs, r.Links
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
