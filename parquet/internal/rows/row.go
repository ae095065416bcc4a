// Package rows makes records of the rows of tables whose columns are named as
// package parquet documents them. Readers of columns fill rows, and Finish fills in
// what follows from the rest and checks what an entry must have.
package rows

import (
	"errors"
	"math"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/internal/opmodel"
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

	// DurationFrom tells where the duration is from.
	DurationFrom DurationSource
	// StatedFailed is the value of the column failed, beside what the column error
	// tells. HasRule tells that KindRule is known, and OutputCut that the output's
	// shape has more dimensions than are read.
	StatedFailed, HasRule, OutputCut bool
}

// Others is what a row may hold besides an entry.
type Others struct {
	Collective op.Collective
	Span       op.Span
	Resource   op.Resource
	Gap        op.Gap
	Batch      op.Batch
}

// DurationSource tells where the duration of a row is from. A later one wins.
type DurationSource uint8

// The sources.
const (
	DurationUnknown DurationSource = iota
	DurationMicros
	DurationNanos
)

// Batch is a number of rows that are read together, column by column, and what
// their slices and pointers refer to. All of it is reused for the next ones.
type Batch struct {
	rows   []Row
	Inputs []op.Shape
	Dims   []int64
	DTypes []op.DType
	Attrs  []op.Attr
	Links  []op.Link
	others []*Others
	used   int // of others

	kinds   opmodel.KindCache
	strings intern.Table
	texts   *attrmap.Builder // reads shapes that are kept as text
}

// Size is how many rows are read together: many enough that turning from
// column to column costs little, few enough to stay in the processor's cache.
const Size = 256

// NewBatch returns a batch of up to n rows.
func NewBatch(n int) *Batch {
	return &Batch{
		rows: make([]Row, n), Inputs: make([]op.Shape, 0, 4*n), Dims: make([]int64, 0, 16*n),
		DTypes: make([]op.DType, 0, n), Attrs: make([]op.Attr, 0, n), texts: attrmap.NewBuilder(nil),
	}
}

// Reset returns n empty rows, at most as many as there can be. Those before are no longer valid.
func (b *Batch) Reset(n int) []Row {
	b.Inputs, b.Dims, b.DTypes, b.Attrs = b.Inputs[:0], b.Dims[:0], b.DTypes[:0], b.Attrs[:0]
	b.Links, b.used = b.Links[:0], 0
	rows := b.rows[:n]
	clear(rows)
	for i := range rows {
		rows[i].Batch = b
	}
	return rows
}

// More returns what the row holds besides an entry, to add to it.
func (r *Row) More() *Others {
	if r.others != nil {
		return r.others
	}
	b := r.Batch
	if b.used == len(b.others) {
		b.others = append(b.others, new(Others))
	}
	r.others = b.others[b.used]
	*r.others = Others{}
	b.used++
	return r.others
}

// The values of the column record. A file without it holds operations only.
const (
	recordEntry    = "entry"
	recordSpan     = "span"
	recordResource = "resource"
	recordGap      = "gap"
	recordBatch    = "batch"
)

// Seen tells which columns a file has, where their absence matters: what
// is null was not known to the writer, what is missing may follow from others.
type Seen struct {
	Elements, Memory bool
}

// Finish makes a record of a row that has been read. It belongs to the row.
func (r *Row) Finish(columns Seen) (op.Record, error) {
	switch r.Record {
	case recordEntry, "":
		if err := r.finishEntry(columns); err != nil {
			return op.Record{}, err
		}
		return op.Record{Entry: &r.Entry}, nil
	case recordSpan:
		return op.Record{Span: r.finishSpan()}, nil
	case recordResource:
		resource := &r.More().Resource
		r.Attrs = uniqueAttrs(r.Attrs)
		r.finishRest()
		resource.Service, resource.Rank, resource.Attrs = r.Service, r.Rank, r.Attrs
		return op.Record{Resource: resource}, nil
	case recordGap:
		return op.Record{Gap: &r.More().Gap}, nil
	case recordBatch:
		return op.Record{Batch: &r.More().Batch}, nil
	}
	return op.Record{Skipped: op.Skipped{Reason: op.SkipUnknownRecord, N: 1}}, nil
}

// finishEntry checks what an entry must have, and fills in what follows from
// what it says.
func (r *Row) finishEntry(columns Seen) error {
	switch {
	case r.Operation == "":
		return errors.New("an entry without an operation")
	case r.DurationFrom == DurationUnknown:
		return errors.New("an entry without a duration")
	}
	r.Failed = r.Failed || r.StatedFailed
	r.Attrs = uniqueAttrs(r.Attrs)
	r.finishLinks()
	r.finishRest()
	given := opfile.Given{Rule: r.HasRule, Elements: columns.Elements || r.OutputCut, Memory: columns.Memory}
	opfile.Finish(&r.Entry, given, &r.Batch.kinds)
	return nil
}

// finishSpan takes what spans and entries have in common from the entry.
func (r *Row) finishSpan() *op.Span {
	s := &r.More().Span
	s.TraceID, s.SpanID, s.ParentSpanID = r.TraceID, r.SpanID, r.ParentSpanID
	s.Start, s.Duration = r.Start, max(0, r.Duration)
	s.Service = r.Service
	r.Attrs = uniqueAttrs(r.Attrs)
	r.finishLinks()
	r.finishRest()
	s.Attrs, s.Links, s.Extra = r.Attrs, r.Links, r.Extra
	s.Failed = r.Failed || r.StatedFailed
	if s.Start.V > math.MaxInt64-s.Duration {
		s.Start = op.Int{}
	}
	return s
}

// finishRest completes attributes and links, which come first.
func (r *Row) finishRest() {
	if r.Rest == "" {
		return
	}
	x, w := entries.DecodeRest(r.Rest, r.Attrs, r.Links)
	r.Extra = x
	r.Warn |= w
}

// finishLinks leaves out links that do not lead to a span.
func (r *Row) finishLinks() {
	if r.Links == nil {
		return
	}
	links := r.Links[:0]
	for _, l := range r.Links {
		if l.TraceID.IsZero() || l.SpanID.IsZero() {
			r.Warn |= op.WarnBadID
		} else {
			links = append(links, l)
		}
	}
	if r.Links = links; len(links) == 0 {
		r.Links = nil
	}
}

// uniqueAttrs returns the attributes, nil where there are none. Of equal keys
// the last wins.
func uniqueAttrs(attrs []op.Attr) []op.Attr {
	unique := attrs[:0]
	for _, a := range attrs {
		i := 0
		for i < len(unique) && unique[i].Key != a.Key {
			i++
		}
		if i < len(unique) {
			unique[i].Value = a.Value
		} else {
			unique = append(unique, a)
		}
	}
	if len(unique) == 0 {
		return nil
	}
	return unique
}
