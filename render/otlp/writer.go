package otlp

import (
	"fmt"
	"io"
	"slices"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// The bounds of a batch: those of the SDK's batch processor, and a size that
// receivers take.
const (
	maxBatchSpans = 512
	maxBatchBytes = 1 << 20
)

// Writer writes OTLP JSON Lines. Flush it at the end. It is not safe for
// concurrent use.
type Writer struct {
	w io.Writer
	// resource is that of the last resource record, source what the batch under
	// way comes from.
	resource op.Resource
	source   source
	buf      []byte
	spans    int
	attrs    attributes // keeps its place in memory only
	ids      spanattr.Placeholders
}

// source is what the spans of a batch have in common.
type source struct {
	service, scope string
	rank           op.Int
	// whole tells that the resource record applies, with all its attributes.
	whole bool
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Resource says where the records that follow come from. It is copied.
func (w *Writer) Resource(r *op.Resource) error {
	if r.Service == w.resource.Service && r.Rank == w.resource.Rank && r.WorldSize == w.resource.WorldSize &&
		slices.Equal(r.Attrs, w.resource.Attrs) {
		return nil
	}
	err := w.Flush()
	w.resource = *r
	w.resource.Attrs = slices.Clone(r.Attrs)
	return err
}

// Entry writes an operation.
func (w *Writer) Entry(e *op.Entry) error {
	s := source{service: e.Service, scope: e.Scope, whole: e.Service == w.resource.Service}
	if s.whole && (e.Rank == w.resource.Rank || e.Rank.Known) {
		s.rank = w.resource.Rank
	}
	s.whole = s.whole && s.rank == w.resource.Rank
	if err := w.begin(s); err != nil {
		return err
	}
	trace, span := w.ids.IDs(e)
	w.buf = w.appendEntry(w.buf, e, trace, span)
	return nil
}

// Span writes a span that is no operation.
func (w *Writer) Span(s *op.Span) error {
	src := w.source
	if w.spans == 0 || s.Service != src.service {
		src = source{service: s.Service, whole: s.Service == w.resource.Service}
		if src.whole {
			src.rank = w.resource.Rank
		}
	}
	if err := w.begin(src); err != nil {
		return err
	}
	w.buf = appendSpan(w.buf, s)
	return nil
}

// begin opens a batch where there is none that the next span belongs to.
func (w *Writer) begin(s source) error {
	if w.spans > 0 && (s != w.source || w.spans == maxBatchSpans || len(w.buf) >= maxBatchBytes) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if w.spans > 0 {
		w.buf = append(w.buf, ',')
	} else {
		w.source = s
		w.buf = w.appendHead(w.buf[:0])
	}
	w.spans++
	return nil
}

// appendHead appends a batch up to its first span.
func (w *Writer) appendHead(dst []byte) []byte {
	dst = append(dst, `{"resourceSpans":[{"resource":{"attributes":[`...)
	l := &w.attrs
	l.buf = dst
	if w.source.service != "" {
		l.Str(op.KeyServiceName, w.source.service)
	}
	spanattr.Int(l, op.KeyRank, w.source.rank)
	if w.source.whole {
		spanattr.Int(l, op.KeyWorldSize, w.resource.WorldSize)
		for _, a := range w.resource.Attrs {
			l.Str(a.Key, a.Value)
		}
	}
	dst = append(l.end(), `]},"scopeSpans":[{"scope":{`...)
	if w.source.scope != "" {
		dst = jsontext.AppendString(append(dst, `"name":`...), w.source.scope)
	}
	return append(dst, `},"spans":[`...)
}

// Flush writes the batch under way.
func (w *Writer) Flush() error {
	if w.spans == 0 {
		return nil
	}
	w.buf = append(w.buf, "]}]}]}\n"...)
	n, err := w.w.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	w.buf, w.spans = w.buf[:0], 0
	if err != nil {
		return fmt.Errorf("writing OTLP: %w", err)
	}
	return nil
}
