package otlp

import (
	"bytes"
	"fmt"
	"io"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/internal/opmodel"
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
	// scope is the text of the current scope, and next that of the next span's.
	scope, next []byte
	buf         []byte
	spans       int
	attrs       attributes // reused
	state       []byte     // the trace state of a span
	ids         spanattr.Placeholders
}

// source is the resource that the spans of a batch share.
type source struct {
	service string
	rank    op.Int
	// whole is set if the resource record applies, with all its attributes.
	whole bool
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Resource sets the origin of the records that follow. It copies r.
func (w *Writer) Resource(r *op.Resource) error {
	if opfile.SameResource(r, &w.resource) {
		return nil
	}
	err := w.Flush()
	w.resource = *r.Clone()
	return err
}

// Entry writes an operation.
func (w *Writer) Entry(e *op.Entry) error {
	s := source{service: e.Service, whole: e.Service == w.resource.Service}
	if s.whole && (e.Rank == w.resource.Rank || e.Rank.Known) {
		s.rank = w.resource.Rank
	}
	s.whole = s.whole && s.rank == w.resource.Rank
	scope := op.Scope{Name: e.Scope}
	if x := e.Extra; x != nil {
		scope.Version, scope.Attrs = x.Scope.Version, x.Scope.Attrs
	}
	if err := w.begin(s, &scope); err != nil {
		return err
	}
	trace, span := w.ids.IDs(e)
	w.buf = w.appendEntry(w.buf, e, trace, span)
	return nil
}

// Span writes a span that is not an operation.
func (w *Writer) Span(s *op.Span) error {
	src := source{service: s.Service, whole: s.Service == w.resource.Service}
	if src.whole {
		src.rank = w.resource.Rank
	}
	var scope op.Scope
	if x := s.Extra; x != nil {
		scope = x.Scope
	}
	if err := w.begin(src, &scope); err != nil {
		return err
	}
	w.buf = w.appendSpan(w.buf, s)
	return nil
}

// begin starts a batch unless the next span belongs to the current one, and a scope
// unless it is the current one.
func (w *Writer) begin(s source, scope *op.Scope) error {
	if w.spans > 0 && (s != w.source || w.spans == maxBatchSpans || len(w.buf) >= maxBatchBytes) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	w.next = w.appendScope(w.next[:0], scope)
	switch {
	case w.spans == 0:
		w.source = s
		w.buf = append(w.appendHead(w.buf[:0]), w.next...)
	case !bytes.Equal(w.next, w.scope):
		w.buf = append(append(w.buf, "]},"...), w.next...)
	default:
		w.buf = append(w.buf, ',')
	}
	w.scope, w.next = w.next, w.scope
	w.spans++
	return nil
}

// appendHead appends a batch up to its first scope.
func (w *Writer) appendHead(dst []byte) []byte {
	attrs := opmodel.AppendText(nil, attrkey.ServiceName, w.source.service)
	attrs = opmodel.AppendInt(attrs, attrkey.Rank, w.source.rank)
	if w.source.whole {
		attrs = append(opmodel.AppendInt(attrs, attrkey.WorldSize, w.resource.WorldSize), w.resource.Attrs...)
	}
	return append(w.attrs.appendList(append(dst, `{"resourceSpans":[{"resource":{`...), attrs), `},"scopeSpans":[`...)
}

// appendScope appends a scope up to its first span.
func (w *Writer) appendScope(dst []byte, s *op.Scope) []byte {
	dst = append(dst, `{"scope":{`...)
	start := len(dst)
	if s.Name != "" {
		dst = jsontext.AppendString(append(dst, `,"name":`...), s.Name)
	}
	if s.Version != "" {
		dst = jsontext.AppendString(append(dst, `,"version":`...), s.Version)
	}
	if dst = w.attrs.appendMember(dst, s.Attrs); len(dst) > start {
		dst = append(dst[:start], dst[start+1:]...) // the first comma
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
