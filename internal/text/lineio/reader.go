// Package lineio reads text line by line in bounded memory, with the position of
// each line, and has the buffer that other readers of streams use.
package lineio

import (
	"bytes"
	"io"
)

// MaxLine is the longest line kept in memory, without its newline. A longer
// one is passed over up to its newline and reported as such.
const MaxLine = 16 << 20

// Line is one line of the input.
type Line struct {
	// Text is the line without its newline or carriage return, valid until the
	// next call of Next; nil where the line was too long.
	Text []byte
	// Number counts from 1.
	Number int64
	// Offset is where the line starts, in bytes from the start of the input.
	Offset int64
	// Complete is set if a newline ended the line. The last line of a file that was
	// cut off is not complete.
	Complete bool
}

// Reader reads lines. It is not safe for concurrent use.
type Reader struct {
	in      Buffer
	limit   int
	start   int // of the unread part of the buffer
	scanned int // bytes from start in which there is no newline
	line    int64
}

// NewReader returns a Reader of src whose lines are limited to limit bytes,
// MaxLine where limit is 0.
func NewReader(src io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = MaxLine
	}
	r := &Reader{limit: limit}
	r.Reset(src, 0, 0)
	return r
}

// Reset makes r read src, which starts behind so many bytes and lines of its
// input. The contents of a *bytes.Buffer are read in place, without a copy.
func (r *Reader) Reset(src io.Reader, offset, lines int64) {
	r.in.Reset(src, offset)
	r.start = 0
	r.scanned = 0
	r.line = lines
}

// Next returns the next line. At the end of the input the error is io.EOF;
// any other error is the underlying reader's, and comes after every byte that
// the reader gave has been returned.
func (r *Reader) Next() (Line, error) {
	tooLong := false
	offset := r.in.Offset + int64(r.start)
	for {
		unread := r.Buffered()
		if i := bytes.IndexByte(unread[r.scanned:], '\n'); i >= 0 {
			return r.take(offset, r.scanned+i, 1, tooLong), nil
		}
		r.scanned = len(unread)
		if len(unread) > r.limit+1 {
			// One more byte than the limit allows for a carriage return.
			tooLong = true
			r.drop(len(unread))
		}
		if r.in.Err != nil {
			if r.start == len(r.in.Text) && !tooLong {
				return Line{}, r.in.Err
			}
			return r.take(offset, len(r.in.Text)-r.start, 0, tooLong), nil
		}
		r.in.Slide(r.start, r.limit+2)
		r.start = 0
		r.in.Read()
	}
}

// Buffered returns the text that has been read from the source and not yet been
// returned, valid until the next call of another method. It may end within a line.
func (r *Reader) Buffered() []byte { return r.in.Text[r.start:] }

// Skip passes over the next n bytes, which are buffered and one line with its
// newline.
func (r *Reader) Skip(n int) {
	r.drop(n)
	r.line++
}

// SkipEmpty passes over the empty lines that are buffered and come next: a file may hold
// little else.
func (r *Reader) SkipEmpty() {
	unread := r.Buffered()
	if n := len(unread) - len(bytes.TrimLeft(unread, "\n")); n > 0 {
		r.drop(n)
		r.line += int64(n)
	}
}

// take cuts n bytes, and the newline behind them, off the unread part.
func (r *Reader) take(offset int64, n, newline int, tooLong bool) Line {
	text := r.in.Text[r.start : r.start+n]
	r.drop(n + newline)
	r.line++
	if len(text) > 0 && text[len(text)-1] == '\r' {
		text = text[:len(text)-1]
	}
	if tooLong || len(text) > r.limit {
		text = nil
	}
	return Line{Text: text, Number: r.line, Offset: offset, Complete: newline > 0}
}

func (r *Reader) drop(n int) {
	r.start += n
	r.scanned = 0
}
