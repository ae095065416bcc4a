package sink

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/optrace/optrace/internal/encoding"
	"github.com/optrace/optrace/internal/rotate"
)

// errForeign is the error for a file to which nothing should be appended.
var errForeign = errors.New("file has a different format or compression")

// headBytes is how much of a file is read to see its format.
const headBytes = 64

// Inspect returns a function that examines files of a format and compression.
func Inspect(f encoding.Format, c Compression) rotate.Inspect {
	return inspector{f, c}.inspect
}

type inspector struct {
	format      encoding.Format
	compression Compression
}

func (c inspector) inspect(f io.ReaderAt, size int64) (end rotate.Ending, whole int64, err error) {
	if size == 0 {
		return rotate.EndsWhole, 0, nil
	}
	head := make([]byte, min(size, headBytes))
	if _, err := f.ReadAt(head, 0); err != nil {
		return 0, 0, err
	}
	if c.compression != None {
		end, err = c.inspectCompressed(io.NewSectionReader(f, 0, size), head)
		return end, 0, err
	}
	for _, other := range []Compression{Gzip, Zstd} {
		if bytes.HasPrefix(head, other.magic()) {
			return 0, 0, fmt.Errorf("%w: it is compressed with %v", errForeign, other)
		}
	}
	if !c.format.Accepts(head) {
		return 0, 0, fmt.Errorf("%w: it is not in the format %s", errForeign, c.format.Name())
	}
	if !c.format.Lines() {
		if whole, err = c.format.Whole(f, size); err == nil && whole < size {
			end = rotate.EndsInMessage
		}
		return end, whole, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return 0, 0, err
	}
	if last[0] != '\n' {
		end = rotate.EndsInLine
	}
	return end, size, nil
}

// inspectCompressed reads all of src: nothing else shows where its blocks end.
func (c inspector) inspectCompressed(src io.Reader, head []byte) (rotate.Ending, error) {
	magic := c.compression.magic()
	if n := min(len(head), len(magic)); !bytes.Equal(head[:n], magic[:n]) {
		return 0, fmt.Errorf("%w: it is not compressed with %v", errForeign, c.compression)
	}
	// An error of reading the file itself must not be taken for an incomplete
	// block.
	file := &errorKeeper{src: src}
	plain, err := c.compression.decompress(bufio.NewReader(file))
	if err != nil {
		return rotate.EndsInBlock, file.err
	}
	defer func() { _ = plain.Close() }() // it was only read
	text := bufio.NewReader(plain)
	if start, _ := text.Peek(headBytes); len(start) > 0 && !c.format.Accepts(start) {
		return 0, fmt.Errorf("%w: it is not in the format %s", errForeign, c.format.Name())
	}
	if _, err := io.Copy(io.Discard, text); err != nil {
		return rotate.EndsInBlock, file.err
	}
	return rotate.EndsWhole, file.err
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
