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

// decompressor decompresses pages. Its decoders are made when they are needed.
type decompressor struct {
	zstd *zstd.Decoder
	gzip gzip.Reader
}

func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

// decompress fills dst with what src holds, which must be of the size of dst. The
// library's codecs have no such bound.
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
		return fmt.Errorf("compressed with codec %d (%v), which is not supported", c, c)
	}
	if err == nil && n != len(dst) {
		err = errors.New("page is not of the size that it states")
	}
	return err
}

// fill fills dst from src and returns how much there is, up to a byte more than fits.
func fill(dst []byte, src io.Reader) (n int, err error) {
	if n, err = io.ReadFull(src, dst); err == nil {
		k, _ := io.ReadFull(src, make([]byte, 1))
		n += k
	}
	return n, err
}
