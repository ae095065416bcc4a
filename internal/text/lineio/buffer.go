package lineio

import (
	"bytes"
	"io"
)

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
