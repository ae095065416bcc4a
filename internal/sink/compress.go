package sink

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Compression is how batches are compressed.
type Compression uint8

// The compressions.
const (
	None Compression = iota
	Gzip
	Zstd
)

// String returns the name of the compression.
func (c Compression) String() string {
	switch c {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("Compression(%d)", uint8(c))
}

// compressor compresses batches, each on its own. It is used by one goroutine
// at a time.
type compressor interface {
	// compress appends src to dst, compressed.
	compress(dst, src []byte) []byte
}

// newCompressor returns nil for no compression.
//
// The fastest levels are used: at the rate of operations better ones would take
// more of the processor than encoding does, and gain little.
func newCompressor(c Compression) (compressor, error) {
	switch c {
	case None:
		return nil, nil
	case Gzip:
		z := new(gzipCompressor)
		w, err := gzip.NewWriterLevel(&z.out, gzip.BestSpeed)
		if err != nil {
			return nil, fmt.Errorf("making a gzip writer: %w", err)
		}
		z.writer = w
		return z, nil
	case Zstd:
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return nil, fmt.Errorf("making a zstd encoder: %w", err)
		}
		return zstdCompressor{e}, nil
	}
	return nil, fmt.Errorf("unknown compression %d", c)
}

type gzipCompressor struct {
	writer *gzip.Writer
	out    sliceWriter
}

func (z *gzipCompressor) compress(dst, src []byte) []byte {
	z.out.bytes = dst
	z.writer.Reset(&z.out)
	_, _ = z.writer.Write(src) // a slice takes everything
	_ = z.writer.Close()
	dst = z.out.bytes
	z.out.bytes = nil
	return dst
}

// sliceWriter appends to a slice.
type sliceWriter struct{ bytes []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.bytes = append(w.bytes, p...)
	return len(p), nil
}

type zstdCompressor struct{ encoder *zstd.Encoder }

func (z zstdCompressor) compress(dst, src []byte) []byte { return z.encoder.EncodeAll(src, dst) }

// magic returns the first bytes of a compressed file.
func (c Compression) magic() []byte {
	switch c {
	case Gzip:
		return []byte{0x1f, 0x8b}
	case Zstd:
		return []byte{0x28, 0xb5, 0x2f, 0xfd}
	}
	return nil
}

// decompress returns a reader of the content of src, which must be closed.
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
