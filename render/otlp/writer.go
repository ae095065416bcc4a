package otlp

import (
	"fmt"
	"io"
	"slices"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// The bounds of a batch: the number of spans of the SDK's batch processor, and a
// size that receivers accept.
const (
	maxBatchSpans = 512
	maxBatchBytes = 1 << 20
)

// Writer writes OTLP JSON Lines. Flush it at the end. It is not safe for
// concurrent use.
type Writer struct {
	w io.Writer
	// resource is the last resource record, source the origin of the current batch.
	resource op.Resource
	source   source
	buf      []byte
	spans    int
	attrs    attributes // reused
	ids      spanattr.Placeholders
}

// source is the origin that the spans of a batch share.
type source struct {
	service, scope string
	rank           op.Int
	// whole is set if the resource record applies, with all its attributes.
	whole bool
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Resource sets the origin of the records that follow. It copies r.
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

// Span writes a span that is not an operation.
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

// begin starts a batch unless the next span belongs to the current one.
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

// Flush writes the current batch.
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
