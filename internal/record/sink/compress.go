package sink

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

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

// compressor appends the compressed batch to dst. It is not safe for concurrent use.
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
