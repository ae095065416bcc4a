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

// decompressor decompresses pages. The decoders are made when they are needed.
type decompressor struct {
	zstd *zstd.Decoder
	gzip *gzip.Reader
}

// close releases what the decoders hold. They are made again when they are needed.
func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
		d.zstd = nil
	}
}

var errPageSize = errors.New("page is not of the size that it states")

// decompress fills dst with what src holds, which must be of the size of dst.
func (d *decompressor) decompress(c format.CompressionCodec, dst, src []byte) (err error) {
	// The formats below come from libraries, and the pages from anywhere.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("damaged %s data: %v", c, fault)
		}
	}()
	switch c {
	case format.Snappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
			return errPageSize
		}
		_, err = snappy.Decode(dst, src)
		return err
	case format.Gzip:
		return d.ungzip(dst, src)
	case format.Brotli:
		return fill(dst, brotli.NewReader(bytes.NewReader(src)))
	case format.Zstd:
		return d.unzstd(dst, src)
	case format.Lz4Raw:
		if n, err := lz4.UncompressBlock(src, dst); err != nil || n != len(dst) {
			return errPageSize
		}
		return nil
	}
	name := fmt.Sprintf("codec %d", c)
	switch c {
	case format.LZO:
		name = "LZO"
	case format.Lz4:
		name = "LZ4 in Hadoop's framing"
	}
	return fmt.Errorf("compressed with %s, which is not supported", name)
}

func (d *decompressor) ungzip(dst, src []byte) error {
	if d.gzip == nil {
		d.gzip = new(gzip.Reader)
	}
	if err := d.gzip.Reset(bytes.NewReader(src)); err != nil {
		return err
	}
	return fill(dst, d.gzip)
}

func (d *decompressor) unzstd(dst, src []byte) error {
	if d.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(MaxPageBytes))
		if err != nil {
			return fmt.Errorf("opening zstd: %w", err)
		}
		d.zstd = z
	}
	out, err := d.zstd.DecodeAll(src, dst[:0])
	if err != nil {
		return err
	}
	if len(out) != len(dst) {
		return errPageSize
	}
	return nil
}

// fill reads exactly dst from src.
func fill(dst []byte, src io.Reader) error {
	if _, err := io.ReadFull(src, dst); err != nil {
		return errPageSize
	}
	var more [1]byte
	if n, _ := io.ReadFull(src, more[:]); n > 0 {
		return errPageSize
	}
	return nil
}
