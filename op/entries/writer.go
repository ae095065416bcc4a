package entries

import (
	"fmt"
	"io"

	"github.com/optrace/optrace/op"
)

const writerBuffer = 128 << 10

// Writer writes entries JSON Lines. It collects lines and writes them whole: a file cut between two writes is valid.
// Call Flush at the end. It is not safe for concurrent use.
type Writer struct {
	w   io.Writer
	buf []byte
	err error
}

// NewWriter returns a Writer to w. It starts with a header for r, which may be nil.
func NewWriter(w io.Writer, r *op.Resource) *Writer {
	return &Writer{w: w, buf: append(op.AppendHeader(nil, r), '\n')}
}

// Entry writes e.
func (w *Writer) Entry(e *op.Entry) error { return w.end(e.AppendJSON(w.buf)) }

// Span writes s as an ancestry record.
func (w *Writer) Span(s *op.Span) error { return w.end(s.AppendJSON(w.buf)) }

// Call writes the entry of an [op.Record.Call] as a call record.
func (w *Writer) Call(e *op.Entry) error { return w.end(e.AppendCallJSON(w.buf)) }

// Gap writes g.
func (w *Writer) Gap(g *op.Gap) error { return w.end(g.AppendJSON(w.buf)) }

// Batch writes b.
func (w *Writer) Batch(b *op.Batch) error { return w.end(b.AppendJSON(w.buf)) }

// Resource writes a header for r, the source of the following records.
func (w *Writer) Resource(r *op.Resource) error { return w.end(op.AppendHeader(w.buf, r)) }

func (w *Writer) end(buf []byte) error {
	w.buf = append(buf, '\n')
	if len(w.buf) >= writerBuffer {
		return w.Flush()
	}
	return w.err
}

// Flush writes the collected lines. The first error is final: every later call returns it.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.buf) > 0 {
		n, err := w.w.Write(w.buf)
		if err == nil && n < len(w.buf) {
			err = io.ErrShortWrite
		}
		if err != nil {
			w.err = fmt.Errorf("writing entries: %w", err)
		}
	}
	w.buf = w.buf[:0]
	return w.err
}
