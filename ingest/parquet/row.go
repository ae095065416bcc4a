package parquet

import (
	"errors"
	"math"

	"github.com/optrace/optrace/op"
)

// row is a row of the table while its columns are read, and what it may become.
type row struct {
	// Entry also holds what other records have in common with it.
	op.Entry
	record string
	rest   string  // see op.AppendRest
	others *others // nil for none
	batch  *batch

	duration                   durationSource
	failed, hasRule, outputCut bool
}

// others is what a row may hold besides an entry.
type others struct {
	collective op.Collective
	span       op.Span
	resource   op.Resource
	gap        op.Gap
	batch      op.Batch
}

// durationSource tells where the duration of a row is from. A later one wins.
type durationSource uint8

const (
	durationUnknown durationSource = iota
	durationMicros
	durationNanos
)

// batch is a number of rows that are read together, column by column, and what
// their slices and pointers refer to. All of it is reused for the next ones.
type batch struct {
	rows   []row
	inputs []op.Shape
	dims   []int64
	dtypes []op.DType
	attrs  []op.Attr
	links  []op.Link
	others []*others
	used   int // of others
}

// batchRows is how many rows are read together: many enough that turning from
// column to column costs little, few enough to stay in the processor's cache.
const batchRows = 256

func newBatch() *batch {
	return &batch{
		rows: make([]row, batchRows), inputs: make([]op.Shape, 0, 4*batchRows), dims: make([]int64, 0, 16*batchRows),
		dtypes: make([]op.DType, 0, batchRows), attrs: make([]op.Attr, 0, batchRows),
	}
}

// reset returns n empty rows.
func (b *batch) reset(n int) []row {
	b.inputs, b.dims, b.dtypes, b.attrs = b.inputs[:0], b.dims[:0], b.dtypes[:0], b.attrs[:0]
	b.links, b.used = b.links[:0], 0
	rows := b.rows[:n]
	clear(rows)
	for i := range rows {
		rows[i].batch = b
	}
	return rows
}

// more returns what the row holds besides an entry, to add to it.
func (r *row) more() *others {
	if r.others != nil {
		return r.others
	}
	b := r.batch
	if b.used == len(b.others) {
		b.others = append(b.others, new(others))
	}
	r.others = b.others[b.used]
	*r.others = others{}
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

// columnsSeen tells which columns a file has, where their absence matters: what
// is null was not known to the writer, what is missing may follow from others.
type columnsSeen struct {
	elements, memory bool
}

// finish makes a record of a row that has been read. It belongs to the row.
func (r *row) finish(columns columnsSeen) (op.Record, error) {
	switch r.record {
	case recordEntry, "":
		if err := r.finishEntry(columns); err != nil {
			return op.Record{}, err
		}
		return op.Record{Entry: &r.Entry}, nil
	case recordSpan:
		return op.Record{Span: r.finishSpan()}, nil
	case recordResource:
		resource := &r.more().resource
		r.Attrs = uniqueAttrs(r.Attrs)
		r.finishRest()
		resource.Service, resource.Rank, resource.Attrs = r.Service, r.Rank, r.Attrs
		return op.Record{Resource: resource}, nil
	case recordGap:
		return op.Record{Gap: &r.more().gap}, nil
	case recordBatch:
		return op.Record{Batch: &r.more().batch}, nil
	}
	return op.Record{Skipped: op.Skipped{Reason: op.SkipUnknownRecord, N: 1}}, nil
}

// finishEntry checks what an entry must have, and fills in what follows from
// what it says.
func (r *row) finishEntry(columns columnsSeen) error {
	switch {
	case r.Operation == "":
		return errors.New("an entry without an operation")
	case r.duration == durationUnknown:
		return errors.New("an entry without a duration")
	}
	r.Failed = r.Failed || r.failed
	if r.Duration < 0 {
		r.Duration = 0
		r.Warn |= op.WarnNegativeDuration
	}
	if r.Start.V > math.MaxInt64-r.Duration {
		r.Start = op.Int{}
		r.Warn |= op.WarnBadTime
	}
	if r.TraceID.IsZero() && !(r.SpanID.IsZero() && r.ParentSpanID.IsZero()) {
		r.Warn |= op.WarnBadID
	}
	r.Attrs = uniqueAttrs(r.Attrs)
	r.finishLinks()
	r.finishRest()
	r.finishKind()
	if !columns.elements && !r.outputCut {
		n, w := r.OutputShape.Elements()
		r.OutputElements = n
		r.Warn |= w
	}
	if !columns.memory && r.OutputElements.Known {
		size := r.DType.Size()
		if size == 0 {
			size = op.DefaultElementSize
		}
		n, w := op.Shape{r.OutputElements.V, size}.Elements() // a product that is checked
		r.MemoryBytes = n
		r.Warn |= w
	}
	return nil
}

func (r *row) finishKind() {
	switch {
	case r.Kind == op.KindUnknown && r.Collective != nil:
		r.Kind, r.KindRule = op.KindCollective, op.RuleAttribute
	case r.Kind == op.KindUnknown:
		r.Kind, r.KindRule = op.InferKind(r.Operation)
	case r.hasRule:
	case r.Kind == op.KindCompute:
		r.KindRule = op.RuleDefault
	case r.Kind == op.KindMemory:
		r.KindRule = op.RuleName
	default:
		r.KindRule = op.RuleAttribute
	}
}

// finishSpan takes what spans and entries have in common from the entry.
func (r *row) finishSpan() *op.Span {
	s := &r.more().span
	s.TraceID, s.SpanID, s.ParentSpanID = r.TraceID, r.SpanID, r.ParentSpanID
	s.Start, s.Duration = r.Start, max(0, r.Duration)
	s.Service = r.Service
	r.Attrs = uniqueAttrs(r.Attrs)
	r.finishLinks()
	r.finishRest()
	s.Attrs, s.Links, s.Extra = r.Attrs, r.Links, r.Extra
	s.Failed = r.Failed || r.failed
	if s.Start.V > math.MaxInt64-s.Duration {
		s.Start = op.Int{}
	}
	return s
}

// finishRest completes attributes and links, which come first.
func (r *row) finishRest() {
	if r.rest == "" {
		return
	}
	x, w := op.DecodeRest(r.rest, r.Attrs, r.Links)
	r.Extra = x
	r.Warn |= w
}

// finishLinks leaves out links that do not lead to a span.
func (r *row) finishLinks() {
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
