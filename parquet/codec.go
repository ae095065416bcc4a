package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// decompressor decompresses pages. It creates its decoders on first use.
type decompressor struct {
	zstd *zstd.Decoder
	gzip gzip.Reader
}

func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

// decompress decompresses src into dst. It returns an error unless the result has the size of dst. Unlike
// the library's codecs it never allocates more.
func (d *decompressor) decompress(c format.CompressionCodec, dst, src []byte) (err error) {
	n := len(dst)
	switch c {
	case format.Snappy:
		if n, err = snappy.DecodedLen(src); err == nil && n == len(dst) {
			_, err = snappy.Decode(dst, src)
		}
	case format.Gzip:
		if err = d.gzip.Reset(bytes.NewReader(src)); err == nil {
			n, err = fill(dst, &d.gzip)
		}
	case format.Brotli:
		n, err = fill(dst, brotli.NewReader(bytes.NewReader(src)))
	case format.Zstd:
		if d.zstd == nil {
			if d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxMemory(maxPageBytes)); err != nil {
				return fmt.Errorf("opening zstd: %w", err)
			}
		}
		var out []byte
		out, err = d.zstd.DecodeAll(src, dst[:0])
		n = len(out)
	case format.Lz4Raw:
		n, err = lz4.UncompressBlock(src, dst)
	default:
		return fmt.Errorf("unsupported codec %d (%v)", c, c)
	}
	if err == nil && n != len(dst) {
		err = errors.New("page differs from its stated size")
	}
	return err
}

// fill reads src into dst and returns the number of bytes, up to one more than len(dst).
func fill(dst []byte, src io.Reader) (n int, err error) {
	if n, err = io.ReadFull(src, dst); err == nil {
		k, _ := io.ReadFull(src, make([]byte, 1))
		n += k
	}
	return n, err
}
