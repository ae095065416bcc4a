package otlp

import (
	"bufio"
	"bytes"
	"io"
	"slices"
)

// input reads a stream piece by piece. An input in memory is not copied.
type input struct {
	// text is the rest of an input in memory, for which stream is nil.
	text   []byte
	before []byte // text in front of the piece taken last
	stream *bufio.Reader
	own    *bufio.Reader // kept for the next stream
	piece  bytes.Buffer  // of a stream
	ahead  []byte        // of a stream: what was looked at and not yet taken
	offset int64         // in the input
}

// reset makes in read src, which starts at an offset of its input.
func (in *input) reset(src io.Reader, offset int64) {
	in.offset, in.ahead = offset, nil
	if memory, ok := src.(*bytes.Buffer); ok {
		in.text, in.stream = memory.Bytes(), nil
		return
	}
	if in.own == nil {
		in.own = bufio.NewReaderSize(nil, windowSize)
	}
	in.own.Reset(&lasting{src: src})
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
		in.before = in.text
		piece, in.text = in.text[:n], in.text[n:]
	} else {
		in.piece.Reset()
		known := in.fromAhead(n)
		in.piece.Write(known)
		_, err = io.CopyN(&in.piece, in.stream, n-int64(len(known)))
		piece = in.piece.Bytes()
	}
	in.offset += int64(len(piece))
	return piece, err
}

// fromAhead takes up to n bytes of what was looked at.
func (in *input) fromAhead(n int64) (piece []byte) {
	n = min(n, int64(len(in.ahead)))
	piece, in.ahead = in.ahead[:n], in.ahead[n:]
	return piece
}

// peek returns the next n bytes without taking them, or fewer at the end of the input,
// valid until the next call. It allocates for the bytes that exist, not for n.
func (in *input) peek(n int) []byte {
	if in.stream == nil {
		return in.text[:min(n, len(in.text))]
	}
	if len(in.ahead) == 0 && n <= in.stream.Size() {
		text, _ := in.stream.Peek(n) // what came counts: take returns the error
		return text
	}
	for len(in.ahead) < n {
		in.ahead = slices.Grow(in.ahead, min(n-len(in.ahead), windowSize))
		m, err := io.ReadFull(in.stream, in.ahead[len(in.ahead):min(n, cap(in.ahead))])
		in.ahead = in.ahead[:len(in.ahead)+m]
		if err != nil {
			break
		}
	}
	return in.ahead[:min(n, len(in.ahead))]
}

// back puts a piece back that was taken last.
func (in *input) back(piece []byte) {
	in.offset -= int64(len(piece))
	if in.stream != nil {
		in.ahead = slices.Concat(piece, in.ahead)
	} else {
		in.text = in.before
	}
}

// discard passes over n bytes, as far as there are, and returns their number.
func (in *input) discard(n int64) (skipped int64, err error) {
	if in.stream == nil {
		piece, err := in.take(n)
		return int64(len(piece)), err
	}
	known := int64(len(in.fromAhead(n)))
	skipped, err = io.CopyN(io.Discard, in.stream, n-known)
	skipped += known
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
	if len(in.ahead) > 0 {
		in.offset++
		return in.fromAhead(1)[0], nil
	}
	if c, err = in.stream.ReadByte(); err == nil {
		in.offset++
	}
	return c, err
}

// lasting is a reader whose error stays.
type lasting struct {
	src io.Reader
	err error
}

// Read implements [io.Reader].
func (l *lasting) Read(p []byte) (n int, err error) {
	if l.err != nil {
		return 0, l.err
	}
	n, l.err = l.src.Read(p)
	return n, l.err
}
