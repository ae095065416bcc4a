package otlp

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
	"github.com/optrace/optrace/render/internal/wire"
)

// The bounds of a batch: the number of spans of the SDK's batch processor, and a size accepted by receivers.
const (
	maxBatchSpans = 512
	maxBatchBytes = 1 << 20
)

// Writer writes OTLP JSON Lines. Flush it at the end. It is not safe for concurrent use.
type Writer struct {
	w io.Writer
	// resource is the last resource record, source the origin of the current batch.
	resource op.Resource
	source   source
	scope    op.Scope // the current one
	buf      []byte
	spans    int
	ids      spanattr.Placeholders
}

// source is the common resource of the spans in a batch.
type source struct {
	service string
	rank    op.Int
	whole   bool // set if the resource record applies, with all its attributes
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Resource sets the origin of the following records. It copies r.
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
	return w.write(s, w.spanOf(e, s.rank))
}

// Span writes a span that is not an operation.
func (w *Writer) Span(s *op.Span) error {
	src := source{service: s.Service, whole: s.Service == w.resource.Service}
	if src.whole {
		src.rank = w.resource.Rank
	}
	return w.write(src, s)
}

func (w *Writer) write(from source, s *op.Span) error {
	if err := w.begin(from, &cmp.Or(s.Extra, &noExtra).Scope); err != nil {
		return err
	}
	w.buf = spanMessage(s).AppendJSON(w.buf)
	return nil
}

// begin starts a new batch or a new scope if the next span needs one.
func (w *Writer) begin(s source, scope *op.Scope) error {
	if w.spans > 0 && (s != w.source || w.spans == maxBatchSpans || len(w.buf) >= maxBatchBytes) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	isScope := scope.Name == w.scope.Name && scope.Version == w.scope.Version &&
		slices.Equal(scope.Attrs, w.scope.Attrs)
	switch {
	case w.spans == 0:
		w.source = s
		w.buf = appendScope(w.appendHead(w.buf[:0]), scope)
	case !isScope:
		w.buf = appendScope(append(w.buf, "]},"...), scope)
	default:
		w.buf = append(w.buf, ',')
	}
	if !isScope {
		w.scope = op.Scope{Name: scope.Name, Version: scope.Version, Attrs: slices.Clone(scope.Attrs)}
	}
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
	resource := wire.Message{member("attributes", wire.Always{Of: wire.Attributes(attrs)})}
	return append(resource.AppendJSON(append(dst, `{"resourceSpans":[{"resource":`...)), `,"scopeSpans":[`...)
}

// appendScope appends a scope up to its first span.
func appendScope(dst []byte, s *op.Scope) []byte {
	scope := wire.Message{member("name", s.Name), member("version", s.Version),
		member("attributes", wire.Attributes(s.Attrs))}
	return append(scope.AppendJSON(append(dst, `{"scope":`...)), `,"spans":[`...)
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
	w.buf = w.buf[:0]
	w.spans = 0
	if err != nil {
		return fmt.Errorf("writing OTLP: %w", err)
	}
	return nil
}
