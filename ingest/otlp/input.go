package otlp

import (
	"bytes"
	"io"

	"github.com/optrace/optrace/internal/lineio"
)

// bufferSize is how much is asked of a source at a time.
const bufferSize = 256 << 10

// buffer is the part of an input that is looked at, and slides forward. An input in memory
// is not copied.
type buffer struct {
	src io.Reader
	buf []byte
	own []byte // the memory to read into; buf may be the source's

	offset int64 // of buf in the input
	// err is what src returned; io.EOF at the end of the input.
	err error
}

// reset makes b read src, which starts at an offset of the input.
func (b *buffer) reset(src io.Reader, offset int64) {
	b.src, b.offset, b.err = src, offset, nil
	if text, ok := src.(*bytes.Buffer); ok {
		b.buf, b.err = text.Bytes(), io.EOF
		return
	}
	if b.own == nil && src != nil {
		b.own = make([]byte, 0, bufferSize)
	}
	b.buf = b.own[:0]
}

// slide drops the first n bytes and makes room behind the rest.
func (b *buffer) slide(n int) {
	b.offset += int64(n)
	rest := b.buf[n:]
	if len(rest) > cap(b.buf)/2 {
		b.buf = append(make([]byte, 0, 2*cap(b.buf)), rest...)
		b.own = b.buf
		return
	}
	b.buf = b.buf[:copy(b.buf, rest)]
}

// read reads once.
func (b *buffer) read() {
	n, err := lineio.Read(b.src, b.buf[len(b.buf):cap(b.buf)])
	b.buf = b.buf[:len(b.buf)+n]
	b.err = err
}

// input reads a stream piece by piece.
type input struct {
	buffer
	pos int // in buf
}

func (in *input) reset(src io.Reader, offset int64) {
	in.buffer.reset(src, offset)
	in.pos = 0
}

// position returns where the next piece starts in the input.
func (in *input) position() int64 { return in.offset + int64(in.pos) }

// peek returns the next n bytes without taking them, or fewer where the input ends or
// fails. They are valid until the next call. It allocates for the bytes that exist, not for n.
func (in *input) peek(n int) []byte {
	for len(in.buf)-in.pos < n && in.err == nil {
		if len(in.buf) == cap(in.buf) {
			in.slide(in.pos)
			in.pos = 0
		}
		in.read()
	}
	return in.buf[in.pos:min(in.pos+n, len(in.buf))]
}
