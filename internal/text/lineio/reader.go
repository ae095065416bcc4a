// Package lineio reads text line by line in bounded memory, with the position of each line. Its buffer serves other
// readers of streams, too.
package lineio

import (
	"bytes"
	"fmt"
	"io"

	"github.com/optrace/optrace/op"
)

// MaxLine is the longest line kept in memory, without its newline. A longer one is skipped and reported.
const MaxLine = 16 << 20

// Line is one line of the input.
type Line struct {
	// Text is the line without its line break, valid until the next call of Next, nil for a line too long.
	Text   []byte
	Number int64 // counts from 1
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

// SkipZeros skips zero bytes in front of the next line. It returns an error about them, nil if there are none.
func (r *Reader) SkipZeros(name string) *op.SyntaxError {
	offset := r.in.Offset + int64(r.start)
	for {
		r.drop(len(r.Buffered()) - len(bytes.TrimLeft(r.Buffered(), "\x00")))
		if r.start < len(r.in.Text) || r.in.Err != nil {
			return Zeros(name, r.line+1, offset, r.in.Offset+int64(r.start))
		}
		r.in.Slide(r.start, r.limit+2)
		r.start = 0
		r.in.Read()
	}
}

// Zeros returns the error about zero bytes between two offsets, nil if there are none. A file truncated under its writer
// begins with zero bytes.
func Zeros(name string, line, from, to int64) *op.SyntaxError {
	if from == to {
		return nil
	}
	return &op.SyntaxError{File: name, Line: line, Offset: from, Msg: fmt.Sprintf("zero bytes passed over: %d", to-from),
		Class: op.ErrorDamaged}
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

// bufferSize is the size of a read. Reads of this size cost little compared to parsing.
const bufferSize = 256 << 10

// Buffer is a sliding window over an input. It does not copy the contents of a *bytes.Buffer.
type Buffer struct {
	Text   []byte // the window, at Offset of the input
	Offset int64
	Err    error // the source's error, io.EOF at the end of the input

	src  io.Reader
	own  []byte // the buffer; Text may be the source's
	hold func(bytes int64) error
}

// Held is a source with a bound on the memory taken for it.
type Held struct {
	io.Reader
	// Hold is called with the number of additional bytes held, negative for fewer. An error ends the reading.
	Hold func(bytes int64) error
}

// HoldOf returns the Hold of a [Held] source, nil for any other source.
func HoldOf(src io.Reader) func(bytes int64) error {
	if h, ok := src.(*Held); ok {
		return h.Hold
	}
	return nil
}

// Reset makes b read src, which starts at an offset of its input.
func (b *Buffer) Reset(src io.Reader, offset int64) {
	hold := HoldOf(src)
	if h, ok := src.(*Held); ok {
		src = h.Reader
	}
	*b = Buffer{src: src, Offset: offset, own: b.own, hold: hold}
	if text, ok := src.(*bytes.Buffer); ok {
		b.Text = text.Bytes()
		b.Err = io.EOF
		return
	}
	if cap(b.own) > bufferSize && b.hold != nil && b.hold(int64(cap(b.own))) != nil {
		b.own = nil
	}
	if b.own == nil && src != nil {
		b.own = make([]byte, 0, bufferSize)
	}
	b.Text = b.own[:0]
}

// Slide drops the first n bytes and makes room behind the rest. It may grow the buffer to most bytes.
func (b *Buffer) Slide(n, most int) {
	b.Offset += int64(n)
	rest := b.Text[n:]
	if size := min(2*cap(b.Text), most); len(rest) > cap(b.Text)/2 && size > cap(b.Text) && b.grow(int64(size)) {
		b.own = append(make([]byte, 0, size), rest...)
		b.Text = b.own
		return
	}
	b.Text = b.Text[:copy(b.Text, rest)]
}

// ReadUpTo returns the first most bytes of src, or all of it. If most is below 256 KiB it may read more of src.
func ReadUpTo(src io.Reader, most int) ([]byte, error) {
	var b Buffer
	for b.Reset(src, 0); b.Err == nil && len(b.Text) < most; b.Read() {
		if len(b.Text) == cap(b.Text) {
			b.Slide(0, most)
		}
	}
	if b.Err == io.EOF {
		b.Err = nil
	}
	return b.Text[:min(len(b.Text), most)], b.Err
}

// grow asks to replace the buffer by one of size bytes. A refusal is in Err.
func (b *Buffer) grow(size int64) bool {
	if b.hold == nil {
		return true
	}
	if b.Err = b.hold(size); b.Err != nil {
		return false
	}
	if held := int64(cap(b.Text)); held > bufferSize {
		_ = b.hold(-held) // less than before
	}
	return true
}

// Read reads once. It tries up to a hundred times if a read gives neither bytes nor an error.
func (b *Buffer) Read() {
	end := len(b.Text)
	for range 100 {
		if b.hold != nil && b.Err != nil {
			return
		}
		n, err := b.src.Read(b.Text[end:cap(b.Text)])
		if b.Text, b.Err = b.Text[:end+n], err; n > 0 || err != nil {
			return
		}
	}
	b.Err = io.ErrNoProgress
}
