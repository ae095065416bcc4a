package optraceexporter

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/encoding/entries"
	"github.com/optrace/optrace/op"
)

type lines struct {
	source   attribute.Distinct // identifies resource
	resource *op.Resource       // of the records that follow
	line     []byte
}

// from makes r the source of the records that follow.
func (l *lines) from(r *op.Resource) {
	shortenResource(r)
	header := attribute.String("header", string(op.AppendHeader(nil, r)))
	set := attribute.NewSet(header)
	l.source, l.resource = set.Equivalent(), r
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
	entries.Format.Join(b, &encoding.Record{Bytes: l.line, Entries: n, Source: l.source, Resource: l.resource})
	const keep = 1 << 20
	if cap(l.line) > keep {
		l.line = nil
	}
}
