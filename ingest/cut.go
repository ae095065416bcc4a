package ingest

import (
	"bytes"
	"io"
	"slices"

	"github.com/optrace/optrace/op"
)

// The sizes of a part. A part grows until a record ends in it. Above maxPart the rest of the file is read as a stream.
// A part should fit into a core's cache.
const (
	partBytes = 256 << 10
	maxPart   = 16 << 20
)

// cutFunc returns the end of the last whole record in text, 0 if there is none. text starts with a record. lines
// reports whether the records are lines; a caller that has found this out passes known. first is the beginning of the
// file.
type cutFunc func(text, first []byte, known bool) (end int, lines bool)

type cutter struct {
	src   io.Reader
	cut   cutFunc // of the file's format
	first []byte  // the beginning of the file
	lines bool
	size  int // how much of the file makes a part
	// rest is the input behind the last part. It shares that part's buffer: the buffer must not change before the next
	// call of next.
	rest []byte
	at   op.Position // of rest
	done bool        // the last part has been returned
	// spare reserves bytes for parts and reports whether they are available.
	spare func(bytes int64) bool
}

// maxFirst is how much of the beginning of a file the cut functions need.
const maxFirst = 64

// next returns the next part. The caller owns its buffer. If the file cannot be cut or reading fails, the rest comes as
// a stream, which yields the error.
func (c *cutter) next(buf []byte) (part []byte, stream io.Reader, at op.Position) {
	at = c.at
	if !c.grow(&buf, len(c.rest)) {
		c.done = true
		return nil, io.MultiReader(bytes.NewReader(c.rest), c.src), at
	}
	buf = append(buf[:0], c.rest...)
	for n := max(c.size-len(buf), c.size/4, 1); ; n = len(buf) {
		if len(buf) >= maxPart || !c.grow(&buf, len(buf)+n) {
			c.done = true
			return nil, io.MultiReader(bytes.NewReader(buf), c.src), at
		}
		m, err := io.ReadFull(c.src, buf[len(buf):len(buf)+n])
		buf = buf[:len(buf)+m]
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
		if end, lines := c.cut(buf, c.first, c.lines); end > 0 {
			c.lines = c.lines || lines
			c.rest = buf[end:]
			c.at.Offset += int64(end)
			c.at.Lines += int64(bytes.Count(buf[:end], []byte{'\n'}))
			return buf[:end], nil, at
		}
	}
}

func (c *cutter) grow(buf *[]byte, size int) bool {
	if size > max(cap(*buf), 4*partBytes) && c.spare != nil && !c.spare(int64(size-cap(*buf))) {
		return false
	}
	*buf = slices.Grow(*buf, max(0, size-len(*buf)))
	return true
}

type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

func cutLines(text, _ []byte, _ bool) (end int, lines bool) {
	end = bytes.LastIndexByte(text, '\n') + 1
	return end, end > 0
}

// cutDocuments cuts behind the last newline followed by a document with the same first member as the first document.
// Lines within a document are indented or start with other members.
func cutDocuments(text, first []byte, known bool) (end int, lines bool) {
	if !bytes.HasPrefix(first, []byte(`{"`)) {
		return 0, false
	}
	name := bytes.IndexByte(first[2:], '"')
	if name < 0 {
		return 0, false
	}
	start := first[:2+name+1]
	// Forwards: IndexByte is many times as fast as LastIndexByte, and documents are long lines.
	n := 0
	for second := !known; ; second = false {
		newline := bytes.IndexByte(text[n:], '\n')
		if newline < 0 {
			return end, lines
		}
		n += newline + 1
		if bytes.HasPrefix(text[n:], start) {
			end = n
			lines = lines || second
		}
	}
}
