package optrace

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Converter turns finished spans into entries and ancestry records, as an
// [Exporter] writes them: for span processors and exporters of one's own. It is
// used by one goroutine at a time; its results are valid until its next call.
type Converter struct {
	conv *convert.Converter
}

// NewConverter returns a Converter that reads attributes as m says; nil stands
// for the conventions alone. m must not be changed afterwards.
func NewConverter(m *attr.Mapping) *Converter {
	return &Converter{conv: convert.New(m, encoding.DefaultCacheBytes/8)}
}

// Entry returns the entry of an operation, or false for another span. The entry
// does not name the local root: only a [Processor] knows it.
func (c *Converter) Entry(s sdktrace.ReadOnlySpan) (*op.Entry, bool) {
	if s == nil {
		return nil, false
	}
	d := span.Read(s, s.SpanContext(), s.Parent())
	return c.conv.Entry(&d, span.Root{})
}

// Ancestor returns the ancestry record of a span above operations.
func (c *Converter) Ancestor(s sdktrace.ReadOnlySpan) *op.Span {
	if s == nil {
		return nil
	}
	d := span.Read(s, s.SpanContext(), s.Parent())
	return c.conv.Ancestor(&d)
}
