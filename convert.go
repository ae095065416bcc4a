package optrace

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Converter turns finished spans into entries and ancestry records, for span processors and exporters other than
// [Exporter]. One goroutine uses it at a time. Its results are valid until its next call.
type Converter struct {
	conv *convert.Converter
}

// NewConverter returns a Converter with the mapping m of attributes. A nil m is the conventions alone. The caller must
// not change m afterwards.
func NewConverter(m *attr.Mapping) *Converter {
	return &Converter{conv: convert.New(m, encoding.DefaultCacheBytes/8)}
}

// Entry returns the entry of an operation, or false if s is another span. The entry has no local root, because only a
// [Processor] knows it.
func (c *Converter) Entry(s sdktrace.ReadOnlySpan) (*op.Entry, bool) {
	if s == nil {
		return nil, false
	}
	d := span.Read(s, s.SpanContext(), s.Parent())
	return c.conv.Entry(&d, span.Root{})
}

// Ancestor returns the ancestry record of a span above operations, nil for a nil span.
func (c *Converter) Ancestor(s sdktrace.ReadOnlySpan) *op.Span {
	if s == nil {
		return nil
	}
	d := span.Read(s, s.SpanContext(), s.Parent())
	return c.conv.Ancestor(&d)
}
