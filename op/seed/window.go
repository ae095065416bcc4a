package seed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/internal/decode"
)

// maxTraceValue is the longest entry, or other value, of a seed trace that is streamed.
const maxTraceValue = 16 << 20

// window is the part of a document that is looked at: it slides over one that is streamed, or holds all of it.
type window struct {
	src  io.Reader // nil where buf is the document
	name string
	dec  decode.Decoder

	buf  []byte
	at   int   // the unread part of buf
	base int64 // of buf in the document
	err  error // of src

	lines   int64 // in front of buf[counted:]
	counted int
}

// step runs f on the text that is there, and again with more where f ran into its end. It
// returns what f did not expect, or why there is no more.
func (w *window) step(f func()) error {
	l := &w.dec.Lex
	for {
		l.Reset(w.buf[w.at:])
		f()
		// A number that ends with the text may go on behind it.
		short := l.Truncated() || l.Err() == nil && l.AtEnd()
		switch {
		case short && w.err == nil && len(w.buf)-w.at < maxTraceValue:
			w.fill()
		case short && w.err == nil:
			return w.fault(w.at, fmt.Sprintf("value longer than %d MiB", maxTraceValue>>20), op.ErrorLimit)
		case l.Err() == nil:
			w.at += l.Offset()
			return nil
		case short && !errors.Is(w.err, io.EOF):
			return fmt.Errorf("reading trace: %w", w.err)
		default:
			return w.damage()
		}
	}
}

// more reads what stands in front of a member or an element, and reports false behind the last one.
func (w *window) more(end byte, first bool, want string) (more bool, err error) {
	l := &w.dec.Lex
	err = w.step(func() {
		if more = l.Peek() != end; !more {
			l.Expect(end, "")
		} else if !first {
			l.Expect(',', want)
			l.Peek() // behind white space
		}
	})
	return more, err
}

// fill drops what has been read and reads more.
func (w *window) fill() {
	const size = 256 << 10
	w.lineAt(w.at)
	w.base += int64(w.at)
	w.buf, w.at, w.counted = w.buf[:copy(w.buf, w.buf[w.at:])], 0, 0
	w.buf = slices.Grow(w.buf, max(size, len(w.buf)))
	n := 0
	n, w.err = io.ReadAtLeast(w.src, w.buf[len(w.buf):cap(w.buf)], 1)
	w.buf = w.buf[:len(w.buf)+n]
}

// damage returns the error of the lexer.
func (w *window) damage() *op.SyntaxError {
	l := &w.dec.Lex
	e := w.fault(w.at+l.Offset(), l.Err().Error(), op.ErrorSyntax)
	e.Truncated = l.Truncated()
	return e
}

// fault returns an error about what stands at an index in buf.
func (w *window) fault(i int, msg string, class op.ErrorClass) *op.SyntaxError {
	return &op.SyntaxError{File: w.name, Line: w.lineAt(i), Offset: w.base + int64(i), Msg: msg, Class: class}
}

// lineAt returns the line of an index in buf, counted from 1.
func (w *window) lineAt(i int) int64 {
	newline := []byte{'\n'}
	if i < w.counted {
		w.lines -= int64(bytes.Count(w.buf[i:w.counted], newline))
	} else {
		w.lines += int64(bytes.Count(w.buf[w.counted:i], newline))
	}
	w.counted = i
	return w.lines + 1
}
