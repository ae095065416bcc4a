package ingest

import (
	"bytes"
	"io"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/op"
)

// How much of a file makes a part. A part grows while no record ends in it; what
// has none up to the last size is read as a stream. A part should fit into a
// core's cache: with a megabyte, reading OTLP JSON takes a fifth longer.
const (
	partBytes = 256 << 10
	maxPart   = 16 << 20
)

// cutter cuts a file into parts.
type cutter struct {
	src io.Reader
	// cut is of the file's format, and first the beginning of the file.
	cut   func(text, first []byte) (end int, lines bool)
	first []byte
	// lines tells that a cut found the records to be lines.
	lines bool
	// size is how much of the file makes a part.
	size int
	// rest is what was read behind the part before, in that part's buffer: nobody
	// writes there until the next call of next.
	rest []byte
	at   op.Position // of rest
	done bool        // the last part has been returned
}

// maxFirst is how much of the beginning of a file the cut functions need.
const maxFirst = 64

// next returns the next part, in a buffer that is the caller's. Where the file cannot be cut, or reading fails, the rest of it comes as a
// stream, which yields the failure too.
func (c *cutter) next(buf []byte) (part []byte, stream io.Reader, at op.Position) {
	at = c.at
	buf = append(buf[:0], c.rest...)
	for size := max(c.size, cap(buf)); ; size *= 2 {
		n := len(buf)
		if cap(buf) < size {
			buf = append(make([]byte, 0, size), buf...)
		}
		m, err := io.ReadFull(c.src, buf[n:size])
		buf = buf[:n+m]
		if c.first == nil {
			c.first = bytes.Clone(buf[:min(len(buf), maxFirst)])
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			c.done = true
			return buf, nil, at
		case err != nil:
			c.done = true
			return nil, io.MultiReader(bytes.NewReader(buf), failing{err}), at
		}
		if end, lines := c.cut(buf, c.first); end > 0 {
			c.lines = c.lines || lines
			c.rest = buf[end:]
			c.at.Offset += int64(end)
			c.at.Lines += int64(bytes.Count(buf[:end], []byte{'\n'}))
			return buf[:end], nil, at
		}
		if size >= maxPart {
			c.done = true
			return nil, io.MultiReader(bytes.NewReader(buf), c.src), at
		}
	}
}

// failing is a reader that fails.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// cutLines cuts behind the last newline.
func cutLines(text, _ []byte) (end int, lines bool) { return bytes.LastIndexByte(text, '\n') + 1, true }

// cutDocuments cuts behind the last newline that is followed by a document which
// starts with the same member as the first one. Within a document that is spread
// over lines none does: they are indented, or start with other members.
func cutDocuments(text, first []byte) (end int, lines bool) {
	if !bytes.HasPrefix(first, []byte(`{"`)) {
		return 0, false
	}
	name := bytes.IndexByte(first[2:], '"')
	if name < 0 {
		return 0, false
	}
	start := first[:2+name+1]
	// Forwards: searching for a byte from the end is ten times as slow, and such
	// documents are long lines.
	for n, second := 0, true; ; second = false {
		newline := bytes.IndexByte(text[n:], '\n')
		if newline < 0 {
			return end, lines
		}
		n += newline + 1
		if bytes.HasPrefix(text[n:], start) {
			end, lines = n, lines || second
		}
	}
}

func cutFrames(text, _ []byte) (end int, lines bool) { return otlp.CutFrames(text), false }
