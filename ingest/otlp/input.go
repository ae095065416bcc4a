package otlp

import (
	"bufio"
	"bytes"
	"io"
)

// input reads a stream piece by piece. An input in memory is not copied.
type input struct {
	// text is the rest of an input in memory, for which stream is nil.
	text   []byte
	stream *bufio.Reader
	own    *bufio.Reader // kept for the next stream
	piece  bytes.Buffer  // of a stream
	offset int64         // in the input
}

// reset makes in read src, which starts at an offset of its input.
func (in *input) reset(src io.Reader, offset int64) {
	in.offset = offset
	if memory, ok := src.(*bytes.Buffer); ok {
		in.text, in.stream = memory.Bytes(), nil
		return
	}
	if in.own == nil {
		in.own = bufio.NewReaderSize(nil, windowSize)
	}
	in.own.Reset(src)
	in.stream = in.own
}

// take returns the next n bytes, valid until the next call, or fewer and an error,
// which is io.EOF at the end of the input. It allocates for the bytes that exist,
// not for n.
func (in *input) take(n int64) (piece []byte, err error) {
	if in.stream == nil {
		if n > int64(len(in.text)) {
			n, err = int64(len(in.text)), io.EOF
		}
		piece, in.text = in.text[:n], in.text[n:]
	} else {
		in.piece.Reset()
		_, err = io.CopyN(&in.piece, in.stream, n)
		piece = in.piece.Bytes()
	}
	in.offset += int64(len(piece))
	return piece, err
}

// discard passes over n bytes, as far as there are, and returns their number.
func (in *input) discard(n int64) (skipped int64, err error) {
	if in.stream == nil {
		piece, err := in.take(n)
		return int64(len(piece)), err
	}
	skipped, err = io.CopyN(io.Discard, in.stream, n)
	in.offset += skipped
	return skipped, err
}

// ReadByte implements [io.ByteReader].
func (in *input) ReadByte() (c byte, err error) {
	if in.stream == nil {
		piece, err := in.take(1)
		if err != nil {
			return 0, err
		}
		return piece[0], nil
	}
	if c, err = in.stream.ReadByte(); err == nil {
		in.offset++
	}
	return c, err
}
