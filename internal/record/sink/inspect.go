package sink

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/rotate"
)

// errForeign is the error for a file of another format or compression. Nothing is appended to it.
var errForeign = errors.New("file has a different format or compression")

const headBytes = 64 << 10

// Inspect returns a function that examines files of a format and compression.
func Inspect(f encoding.Format, c Compression) rotate.Inspect {
	return inspector{f, c}.inspect
}

type inspector struct {
	format      encoding.Format
	compression Compression
}

func (c inspector) inspect(f io.ReaderAt, from, size int64) (end rotate.Ending, whole int64, err error) {
	if from == size {
		return rotate.EndsWhole, size, nil
	}
	if from == 0 {
		if end, err = c.inspectHead(f, size); end != rotate.EndsWhole || err != nil {
			return end, 0, err
		}
	}
	if c.compression != None {
		return c.inspectCompressed(f, from, size)
	}
	if messages, ok := c.format.(encoding.Messages); ok {
		if whole, err = messages.Whole(f, from, size); err == nil && whole < size {
			end = rotate.EndsDamaged
		}
		return end, whole, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return 0, from, err
	}
	if last[0] != '\n' {
		return rotate.EndsInLine, from, nil
	}
	return rotate.EndsWhole, size, nil
}

func (c inspector) inspectHead(f io.ReaderAt, size int64) (rotate.Ending, error) {
	head := make([]byte, min(size, headBytes))
	if _, err := f.ReadAt(head, 0); err != nil {
		return 0, err
	}
	if magic := c.compression.magic(); len(magic) > 0 {
		if n := min(len(head), len(magic)); !bytes.Equal(head[:n], magic[:n]) {
			return 0, fmt.Errorf("%w: it is not compressed with %v", errForeign, c.compression)
		}
		return c.inspectStart(bytes.NewReader(head))
	}
	for _, other := range []Compression{Gzip, Zstd} {
		if bytes.HasPrefix(head, other.magic()) {
			return 0, fmt.Errorf("%w: it is compressed with %v", errForeign, other)
		}
	}
	return c.judge(head)
}

func (c inspector) inspectStart(src io.Reader) (rotate.Ending, error) {
	plain, err := c.compression.decompress(src)
	if err != nil {
		return rotate.EndsDamaged, nil
	}
	defer func() { _ = plain.Close() }() // it was only read
	start := make([]byte, headBytes)
	n, _ := io.ReadFull(plain, start)
	if n == 0 {
		return rotate.EndsWhole, nil // inspectCompressed decides
	}
	return c.judge(start[:n])
}

func (c inspector) judge(head []byte) (rotate.Ending, error) {
	switch c.format.Recognize(head) {
	case encoding.Own:
		return rotate.EndsWhole, nil
	case encoding.Damaged:
		return rotate.EndsDamaged, nil
	}
	return 0, fmt.Errorf("%w: it is not in the format %s", errForeign, c.format.Name())
}

// inspectCompressed reads the file from a block's beginning to its end: only reading finds the ends of blocks.
func (c inspector) inspectCompressed(f io.ReaderAt, from, size int64) (end rotate.Ending, whole int64, err error) {
	// An error of the file itself must not pass for an incomplete block.
	file := &errorKeeper{src: io.NewSectionReader(f, from, size-from)}
	plain, err := c.compression.decompress(bufio.NewReader(file))
	if err != nil {
		return rotate.EndsDamaged, from, file.err
	}
	defer func() { _ = plain.Close() }() // it was only read
	if _, err := io.Copy(io.Discard, plain); err != nil {
		return rotate.EndsDamaged, from, file.err
	}
	return rotate.EndsWhole, size, file.err
}

// errorKeeper keeps the error that ended the reading of src, other than io.EOF.
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

// Compression is the compression of batches.
type Compression uint8

// The compressions.
const (
	None Compression = iota
	Gzip
	Zstd
)

var compressions = [...]struct{ name, magic string }{None: {name: "none"}, Gzip: {"gzip", "\x1f\x8b"},
	Zstd: {"zstd", "\x28\xb5\x2f\xfd"}}

// String returns the name of the compression.
func (c Compression) String() string {
	if int(c) < len(compressions) {
		return compressions[c].name
	}
	return fmt.Sprintf("Compression(%d)", uint8(c))
}

type compressor func(dst, batch []byte) []byte

// newCompressor returns nil for no compression. It uses the fastest levels: better ones gain little.
func newCompressor(c Compression) (compressor, error) {
	switch c {
	case None:
		return nil, nil
	case Gzip:
		w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		return func(dst, batch []byte) []byte {
			out := bytes.NewBuffer(dst)
			w.Reset(out)
			_, _ = w.Write(batch) // a buffer takes everything
			_ = w.Close()
			return out.Bytes()
		}, err
	case Zstd:
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		return func(dst, batch []byte) []byte { return e.EncodeAll(batch, dst) }, err
	}
	return nil, fmt.Errorf("unknown compression %d", c)
}

func (c Compression) magic() []byte { return []byte(compressions[c].magic) }

// decompress returns a reader of the content of src. The caller closes it.
func (c Compression) decompress(src io.Reader) (io.ReadCloser, error) {
	if c == Gzip {
		return gzip.NewReader(src)
	}
	z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}
