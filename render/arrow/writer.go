package arrow

import (
	"errors"
	"fmt"
	"io"

	"github.com/optrace/optrace/internal/arrowtable"
	"github.com/optrace/optrace/op"
)

// Writer writes records as a stream of record batches. It holds at most a batch in
// memory. It is not safe for concurrent use.
type Writer struct {
	w     io.Writer
	rows  *arrowtable.Builder
	begun bool
	buf   []byte
	err   error
}

// Option is an option of NewWriter.
type Option func(*config)

type config struct{ compressor arrowtable.Compressor }

// WithLZ4 compresses the buffers with LZ4, which costs little time.
func WithLZ4() Option { return func(c *config) { c.compressor = arrowtable.NewLZ4() } }

// WithZstd compresses the buffers with zstd, which makes them smaller.
func WithZstd() Option { return func(c *config) { c.compressor = arrowtable.NewZstd() } }

// NewWriter returns a Writer to w. Nothing is written before the first batch is
// complete.
func NewWriter(w io.Writer, opts ...Option) *Writer {
	var cfg config
	for _, o := range opts {
		o(&cfg)
	}
	return &Writer{w: w, rows: arrowtable.NewBuilder(cfg.compressor)}
}

// Entry writes e.
func (w *Writer) Entry(e *op.Entry) error {
	w.rows.Entry(e)
	return w.end()
}

// Span writes s.
func (w *Writer) Span(s *op.Span) error {
	w.rows.Span(s)
	return w.end()
}

// Resource writes r: what follows comes from there.
func (w *Writer) Resource(r *op.Resource) error {
	w.rows.Resource(r)
	return w.end()
}

// Gap writes g.
func (w *Writer) Gap(g *op.Gap) error {
	w.rows.Gap(g)
	return w.end()
}

// Batch writes b.
func (w *Writer) Batch(b *op.Batch) error {
	w.rows.Batch(b)
	return w.end()
}

// end completes a row, and a batch that has become large enough. The first error
// is kept and returned by every later call.
func (w *Writer) end() error {
	if w.err != nil {
		w.rows.Reset() // what is missing cannot be made up for
	} else if w.rows.Full() {
		return w.Flush()
	}
	return w.err
}

// Flush writes the rows so far as a batch.
func (w *Writer) Flush() error {
	if w.err != nil || w.begun && w.rows.Rows() == 0 {
		return w.err
	}
	w.buf = w.buf[:0]
	if !w.begun {
		w.buf = arrowtable.AppendSchema(w.buf, op.Schema)
	}
	w.buf = w.rows.AppendTo(w.buf, !w.begun)
	w.begun = true
	w.rows.Reset()
	if _, err := w.w.Write(w.buf); err != nil {
		w.err = fmt.Errorf("writing arrow: %w", err)
	}
	return w.err
}

var errClosed = errors.New("writing arrow: writer is closed")

// Close writes the last batch and the mark of the end. It does not close the
// underlying writer.
func (w *Writer) Close() error {
	if err := w.Flush(); err != nil {
		return err
	}
	if _, err := w.w.Write(arrowtable.End()); err != nil {
		w.err = fmt.Errorf("writing arrow: %w", err)
		return w.err
	}
	w.err = errClosed
	return nil
}
