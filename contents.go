package optrace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// contents says what a file holds.
type contents struct {
	format      format
	compression Compression
}

// ending is how a file ends.
type ending uint8

const (
	endsWhole     ending = iota
	endsInLine           // end the line before writing on
	endsInMessage        // cut the message off before writing on
	endsInBlock          // nothing can be appended to a compressed block that was cut off
)

// errForeign tells that nothing should be appended to a file.
var errForeign = errors.New("the file holds something else than it should be appended to with")

// headBytes is how much of a file is looked at to tell what it holds.
const headBytes = 64

// inspect returns how the size bytes of f end, and up to where they are whole.
// It changes nothing.
func (c contents) inspect(f io.ReaderAt, size int64) (end ending, whole int64, err error) {
	if size == 0 {
		return endsWhole, 0, nil
	}
	head := make([]byte, min(size, headBytes))
	if _, err := f.ReadAt(head, 0); err != nil {
		return 0, 0, err
	}
	if c.compression != NoCompression {
		end, err = c.inspectCompressed(io.NewSectionReader(f, 0, size), head)
		return end, 0, err
	}
	for _, other := range []Compression{Gzip, Zstd} {
		if bytes.HasPrefix(head, other.magic()) {
			return 0, 0, fmt.Errorf("%w: it is compressed with %v", errForeign, other)
		}
	}
	if !c.format.accepts(head) {
		return 0, 0, fmt.Errorf("%w: it is not in the format %s", errForeign, c.format.name())
	}
	if !c.format.lines() {
		return inspectMessages(f, size)
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return 0, 0, err
	}
	if last[0] != '\n' {
		end = endsInLine
	}
	return end, size, nil
}

// inspectMessages walks from one length-prefixed message to the next.
func inspectMessages(f io.ReaderAt, size int64) (end ending, whole int64, err error) {
	var length [frameLengthBytes]byte
	for whole < size {
		if size-whole < frameLengthBytes {
			return endsInMessage, whole, nil
		}
		if _, err := f.ReadAt(length[:], whole); err != nil {
			return 0, 0, err
		}
		next := whole + frameLengthBytes + int64(binary.BigEndian.Uint32(length[:]))
		if next > size {
			return endsInMessage, whole, nil
		}
		whole = next
	}
	return endsWhole, whole, nil
}

// inspectCompressed reads all of src: where its blocks end shows in no other way.
func (c contents) inspectCompressed(src io.Reader, head []byte) (ending, error) {
	magic := c.compression.magic()
	if n := min(len(head), len(magic)); !bytes.Equal(head[:n], magic[:n]) {
		return 0, fmt.Errorf("%w: it is not compressed with %v", errForeign, c.compression)
	}
	// Errors of reading the file itself must not pass for a torn block.
	file := &errorKeeper{src: src}
	plain, err := c.compression.decompress(bufio.NewReader(file))
	if err != nil {
		return endsInBlock, file.err
	}
	defer func() { _ = plain.Close() }() // it was only read
	text := bufio.NewReader(plain)
	if start, _ := text.Peek(headBytes); len(start) > 0 && !c.format.accepts(start) {
		return 0, fmt.Errorf("%w: it is not in the format %s", errForeign, c.format.name())
	}
	if _, err := io.Copy(io.Discard, text); err != nil {
		return endsInBlock, file.err
	}
	return endsWhole, file.err
}

// errorKeeper keeps the error, other than io.EOF, that reading src ended with.
type errorKeeper struct {
	src io.Reader
	err error
}

func (k *errorKeeper) Read(p []byte) (int, error) {
	n, err := k.src.Read(p)
	if err != nil && err != io.EOF {
		k.err = err
	}
	return n, err
}
