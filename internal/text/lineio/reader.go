// Package lineio reads text line by line in bounded memory, with the position of each line. Its buffer serves other
// readers of streams, too.
package lineio

import (
	"bytes"
	"io"
)

// MaxLine is the longest line kept in memory, without its newline. A longer one is skipped and reported.
const MaxLine = 16 << 20

// Line is one line of the input.
type Line struct {
	// Text is the line without its line break, valid until the next call of Next, nil for a line too long.
	Text []byte
	// Number counts from 1.
	Number int64
	Offset int64 // the start of the line, in bytes from the start of the input
	// Complete is set if a newline ended the line. The last line of a truncated file is not complete.
	Complete bool
}

// Reader reads lines. It is not safe for concurrent use.
type Reader struct {
	in      Buffer
	limit   int
	start   int // of the unread part of the buffer
	scanned int // bytes from start without a newline
	line    int64
}

// NewReader returns a Reader of src for lines of at most limit bytes; 0 is MaxLine.
func NewReader(src io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = MaxLine
	}
	r := &Reader{limit: limit}
	r.Reset(src, 0, 0)
	return r
}

// Reset makes r read src, which starts behind the given bytes and lines of its input.
func (r *Reader) Reset(src io.Reader, offset, lines int64) {
	r.in.Reset(src, offset)
	r.start = 0
	r.scanned = 0
	r.line = lines
}

// Next returns the next line. At the end the error is io.EOF; any other error comes after all bytes of the source.
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
			// One byte above the limit may be a carriage return.
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

// Buffered returns the text read but not returned yet, valid until the next call. It may end within a line.
func (r *Reader) Buffered() []byte { return r.in.Text[r.start:] }

// Skip skips the next n bytes: one buffered line with its newline.
func (r *Reader) Skip(n int) {
	r.drop(n)
	r.line++
}

// SkipEmpty skips the next empty lines in the buffer: a file may consist of them.
func (r *Reader) SkipEmpty() {
	unread := r.Buffered()
	if n := len(unread) - len(bytes.TrimLeft(unread, "\n")); n > 0 {
		r.drop(n)
		r.line += int64(n)
	}
}

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
