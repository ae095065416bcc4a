package arrowtable

import "github.com/optrace/optrace/op"

// Builder collects records as the rows of a batch. The zero value is not usable.
type Builder struct {
	table  *Table
	rows   []byte
	writer *Writer
}

// NewBuilder returns a builder of batches whose buffers c compresses, nil for
// none.
func NewBuilder(c Compressor) *Builder {
	return &Builder{table: NewTable(), writer: NewWriter(c)}
}

// Rows returns the number of rows.
func (b *Builder) Rows() int { return b.table.Rows() }

// Full reports whether the batch has to be written.
func (b *Builder) Full() bool { return b.table.isFull(MaxBuilderRows) }

// Reset makes the batch empty.
func (b *Builder) Reset() {
	b.table.Reset()
	b.rows = b.rows[:0]
}

// Entry adds e.
func (b *Builder) Entry(e *op.Entry) { b.rows = b.table.AppendEntry(b.rows, e) }

// Span adds s.
func (b *Builder) Span(s *op.Span) { b.rows = b.table.AppendSpan(b.rows, s) }

// Resource adds r: what follows comes from there.
func (b *Builder) Resource(r *op.Resource) { b.rows = b.table.AppendResource(b.rows, r) }

// Gap adds g.
func (b *Builder) Gap(g *op.Gap) { b.rows = b.table.AppendGap(b.rows, g) }

// Batch adds the head of a write.
func (b *Builder) Batch(batch *op.Batch) { b.rows = b.table.AppendBatch(b.rows, batch) }

// AppendTo appends the batch: its dictionaries, then the record batch. Those of
// columns without values are left out unless all is set: a stream must have had
// each of them before the first batch.
func (b *Builder) AppendTo(dst []byte, all bool) []byte {
	return b.writer.Append(dst, b.table, b.rows, all)
}
