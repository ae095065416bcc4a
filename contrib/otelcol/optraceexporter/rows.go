package optraceexporter

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/arrowtable"
	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/encoding/entries"
	"github.com/optrace/optrace/op"
)

// rows adds records to batches of a format.
type rows interface {
	// from makes r the source of the records that follow.
	from(r *op.Resource)
	entry(b *encoding.Batch, e *op.Entry)
	span(b *encoding.Batch, s *op.Span)
}

// newRows returns the rows of a format.
func newRows(f encoding.Format) rows {
	if f == encoding.Format(entries.Format) {
		return new(lines)
	}
	return new(columns)
}

// source is where records come from.
type source struct {
	id       attribute.Distinct
	resource *op.Resource
}

func (s *source) from(r *op.Resource) {
	shortenResource(r)
	header := attribute.String("header", string(op.AppendHeader(nil, r)))
	set := attribute.NewSet(header)
	s.id, s.resource = set.Equivalent(), r
}

// lines are entries as JSON Lines.
type lines struct {
	source
	line []byte
}

func (l *lines) entry(b *encoding.Batch, e *op.Entry) {
	l.line = e.AppendJSON(l.line[:0])
	l.join(b, 1)
}

func (l *lines) span(b *encoding.Batch, s *op.Span) {
	l.line = s.AppendJSON(l.line[:0])
	l.join(b, 0)
}

func (l *lines) join(b *encoding.Batch, n int) {
	l.line = append(l.line, '\n')
	entries.Format.Join(b, &encoding.Record{Bytes: l.line, Entries: n, Source: l.id, Resource: l.resource})
	const keep = 1 << 20
	if cap(l.line) > keep {
		l.line = nil
	}
}

// columns are rows of Arrow.
type columns struct{ source }

func (c *columns) entry(b *encoding.Batch, e *op.Entry) {
	b.Records = c.begin(b).AppendEntry(b.Records, e)
	b.Entries++
}

func (c *columns) span(b *encoding.Batch, s *op.Span) {
	b.Records = c.begin(b).AppendSpan(b.Records, s)
}

// begin returns what the next row refers to, after one for its source where that is
// another than before.
func (c *columns) begin(b *encoding.Batch) *arrowtable.Table {
	t, ok := b.Columns.(*arrowtable.Table)
	if !ok {
		t = arrowtable.NewTable()
		b.Columns = t
	}
	switch {
	case b.FirstResource == nil:
		b.First, b.FirstResource = c.id, c.resource
	case c.id != b.Last:
		b.Records = t.AppendResource(b.Records, c.resource)
	}
	b.Last = c.id
	return t
}
