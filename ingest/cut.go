package ingest

import (
	"bytes"
	"io"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/op"
)

// How much of a file makes a part. A part grows while no record ends in it; what
// has none up to the last size is read as a stream.
const (
	partBytes = 1 << 20
	maxPart   = 16 << 20
)

// cutter cuts a file into parts.
type cutter struct {
	src io.Reader
	// cut is of the file's format, and first the beginning of the file.
	cut   func(text, first []byte) int
	first []byte
	// rest is what was read behind the part before.
	rest []byte
	at   op.Position // of rest
	done bool
}

// maxFirst is how much of the beginning of a file the cut functions need.
const maxFirst = 64

// next returns the next part, in a buffer that is the caller's; nil at the end.
// Where the file cannot be cut, or reading fails, the rest of it comes as a
// stream, which yields the failure too.
func (c *cutter) next(buf []byte) (part []byte, stream io.Reader, at op.Position) {
	at = c.at
	if c.done {
		return nil, nil, at
	}
	buf = append(buf[:0], c.rest...)
	for size := max(partBytes, cap(buf)); ; size *= 2 {
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
		if end := c.cut(buf, c.first); end > 0 {
			c.rest = append(c.rest[:0], buf[end:]...)
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
func cutLines(text, _ []byte) int { return bytes.LastIndexByte(text, '\n') + 1 }

// cutDocuments cuts behind the last newline that is followed by a document which
// starts with the same member as the first one. Within a document that is spread
// over lines none does: they are indented, or start with other members.
func cutDocuments(text, first []byte) int {
	if !bytes.HasPrefix(first, []byte(`{"`)) {
		return 0
	}
	name := bytes.IndexByte(first[2:], '"')
	if name < 0 {
		return 0
	}
	start := first[:2+name+1]
	for end := len(text); end > 0; {
		end = bytes.LastIndexByte(text[:end], '\n')
		if end >= 0 && bytes.HasPrefix(text[end+1:], start) {
			return end + 1
		}
	}
	return 0
}

func cutFrames(text, _ []byte) int { return otlp.CutFrames(text) }
