package arrow

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/optrace/optrace/internal/arrowipc"
)

// fileMagic is what a file begins with, in front of the stream that it holds. The
// footer behind the stream says nothing else, but some writers leave the schema out
// of the stream.
const fileMagic = "ARROW1\x00\x00"

// schemaOf returns the schema in the footer of a file, nil where there is none.
func schemaOf(src io.ReaderAt, size int64) *arrowipc.Schema {
	const tailMagic = "ARROW1"
	var tail [4 + len(tailMagic)]byte
	if _, err := src.ReadAt(tail[:], max(0, size-int64(len(tail)))); err != nil && err != io.EOF || string(tail[4:]) != tailMagic {
		return nil
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > MaxMetadataBytes || length > size-int64(len(tail)) {
		return nil
	}
	footer := make([]byte, length)
	if _, err := src.ReadAt(footer, size-int64(len(tail))-length); err != nil && err != io.EOF {
		return nil
	}
	s, err := arrowipc.ReadFooter(footer)
	if err != nil {
		return nil
	}
	return s
}

// stream reads messages.
type stream struct {
	src    io.Reader
	offset int64 // of what is read next
	// anywhere, if not nil, is what src reads up to end, and can be read at any place.
	anywhere io.ReaderAt
	end      int64
	at       int64 // of the message
	isFile   bool
}

// errTorn is the error for a message that is not there as a whole.
var errTorn = errors.New("the stream ends within a message")

// errEnd is returned at the mark of the end of a stream.
var errEnd = errors.New("end of the stream")

// readMagic passes over what a file begins with.
func (s *stream) readMagic(head []byte) error {
	if !bytes.HasPrefix(head, []byte(fileMagic)) {
		return nil
	}
	s.isFile = true
	return s.skip(int64(len(fileMagic)))
}

func (s *stream) skip(n int64) error {
	if b, ok := s.src.(*bufio.Reader); ok && s.anywhere != nil && n > int64(b.Buffered()) {
		if n > s.end-s.offset {
			return errTorn
		}
		s.offset += n
		b.Reset(io.NewSectionReader(s.anywhere, s.offset, s.end-s.offset))
		return nil
	}
	copied, err := io.CopyN(io.Discard, s.src, n)
	s.offset += copied
	if err == io.EOF {
		return errTorn
	}
	return err
}

// body is the body of a message.
type body struct {
	bytes []byte
	// Where src is not nil, the body lies at a place of it, and parts of it are read into
	// memory when they are needed.
	src    io.ReaderAt
	at     int64
	length int64
	memory *arena
}

// later returns the body of n bytes that is next, to be read in parts, and passes over
// it.
func (s *stream) later(n int64, memory *arena) (body, error) {
	b := body{src: s.anywhere, at: s.offset, length: n, memory: memory}
	return b, s.skip(n)
}

// size returns how many bytes the body has.
func (b *body) size() int64 {
	if b.src == nil {
		return int64(len(b.bytes))
	}
	return b.length
}

// part returns a part of the body, which is within it.
func (b *body) part(offset, n int64) ([]byte, error) {
	if b.src == nil {
		return b.bytes[offset : offset+n : offset+n], nil
	}
	data := b.memory.take(int(n))
	_, err := b.src.ReadAt(data, b.at+offset)
	return data, err
}

// arena is memory that is taken piece by piece and given back at once.
type arena struct {
	blocks [][]byte
	at     int    // of the block that small pieces are taken from
	rest   []byte // of that block
	large  [][]byte
	taken  int // of the large pieces
}

const (
	arenaBlock = 128 << 10
	largePiece = arenaBlock / 4
)

// reset gives everything back.
func (a *arena) reset() { a.at, a.rest, a.taken = -1, nil, 0 }

// take returns n bytes, which hold anything.
func (a *arena) take(n int) []byte {
	if n > largePiece {
		if a.taken == len(a.large) {
			a.large = append(a.large, nil)
		}
		if len(a.large[a.taken]) < n {
			a.large[a.taken] = make([]byte, n)
		}
		a.taken++
		return a.large[a.taken-1][:n:n]
	}
	if len(a.rest) < n {
		if a.at++; a.at == len(a.blocks) {
			a.blocks = append(a.blocks, make([]byte, arenaBlock))
		}
		a.rest = a.blocks[a.at]
	}
	piece := a.rest[:n:n]
	a.rest = a.rest[n:]
	return piece
}

// fill reads n bytes into memory that grows with what is there. It appends to buf.
func (s *stream) fill(buf []byte, n int64) ([]byte, error) {
	const atOnce = 1 << 20
	for n > 0 {
		step := int(min(n, max(atOnce, int64(len(buf)))))
		start := len(buf)
		buf = slices.Grow(buf, step)[:start+step]
		m, err := io.ReadFull(s.src, buf[start:])
		s.offset += int64(m)
		if err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				err = errTorn
			}
			return nil, err
		}
		n -= int64(step)
	}
	return buf, nil
}

// message reads the metadata of the next message. It returns io.EOF at the end of
// what there is, and errEnd at a mark of the end.
func (s *stream) message(buf []byte) (m arrowipc.Message, scratch []byte, err error) {
	s.at = s.offset
	var prefix [arrowipc.PrefixSize]byte
	n, err := io.ReadFull(s.src, prefix[:])
	s.offset += int64(n)
	switch {
	case err == io.EOF:
		return m, buf, io.EOF
	case err == io.ErrUnexpectedEOF:
		return m, buf, errTorn
	case err != nil:
		return m, buf, err
	}
	size := binary.LittleEndian.Uint32(prefix[4:])
	switch {
	case binary.LittleEndian.Uint32(prefix[:]) != arrowipc.Continuation:
		return m, buf, fmt.Errorf("%x where a message should begin", prefix[:4])
	case size == 0:
		return m, buf, errEnd
	case size > MaxMetadataBytes:
		return m, buf, fmt.Errorf("metadata of %d bytes; at most %d are read", size, MaxMetadataBytes)
	}
	if buf, err = s.fill(buf[:0], int64(size)); err != nil {
		return m, buf, err
	}
	m, err = arrowipc.ReadMessage(buf)
	if err == nil && m.BodyLength > MaxBodyBytes {
		err = fmt.Errorf("message of %d bytes; at most %d are read", m.BodyLength, MaxBodyBytes)
	}
	return m, buf, err
}

// Sniff reports whether text is the beginning of a stream or a file.
func Sniff(text []byte) bool {
	if bytes.HasPrefix(text, []byte(fileMagic)) {
		return true
	}
	if len(text) < arrowipc.PrefixSize || binary.LittleEndian.Uint32(text) != arrowipc.Continuation {
		return false
	}
	size := int64(binary.LittleEndian.Uint32(text[4:]))
	text = text[arrowipc.PrefixSize:]
	if size == 0 || size > int64(len(text)) {
		return 0 < size && size <= MaxMetadataBytes
	}
	m, err := arrowipc.ReadMessage(text[:size])
	return m.Kind == arrowipc.SchemaMessage || err != nil // which reading it tells
}
