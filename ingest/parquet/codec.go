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
	"github.com/pierrec/lz4/v4"
)

// codec is how pages are compressed.
type codec int

const (
	codecNone   codec = 0
	codecSnappy codec = 1
	codecGzip   codec = 2
	codecBrotli codec = 4
	codecZstd   codec = 6
	codecLZ4    codec = 7
)

// String returns the codec's name.
func (c codec) String() string {
	names := map[codec]string{
		codecNone: "uncompressed", codecSnappy: "snappy", codecGzip: "gzip", 3: "LZO",
		codecBrotli: "brotli", 5: "LZ4 in Hadoop's framing", codecZstd: "zstd", codecLZ4: "LZ4",
	}
	if name, ok := names[c]; ok {
		return name
	}
	return fmt.Sprintf("codec %d", int(c))
}

// decompressor decompresses pages. The decoders are made when they are needed.
type decompressor struct {
	zstd *zstd.Decoder
	gzip *gzip.Reader
}

// close releases what the decoders hold.
func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

var errPageSize = errors.New("page is not of the size that it states")

// decompress fills dst with what src holds, which must be of the size of dst.
func (d *decompressor) decompress(c codec, dst, src []byte) (err error) {
	// The formats below come from libraries, and the pages from anywhere.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("damaged %s data: %v", c, fault)
		}
	}()
	switch c {
	case codecNone:
		if copy(dst, src) < len(dst) || len(src) != len(dst) {
			return errPageSize
		}
		return nil
	case codecSnappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
			return errPageSize
		}
		_, err = snappy.Decode(dst, src)
		return err
	case codecGzip:
		return d.ungzip(dst, src)
	case codecBrotli:
		return fill(dst, brotli.NewReader(bytes.NewReader(src)))
	case codecZstd:
		return d.unzstd(dst, src)
	case codecLZ4:
		if n, err := lz4.UncompressBlock(src, dst); err != nil || n != len(dst) {
			return errPageSize
		}
		return nil
	}
	return fmt.Errorf("compressed with %s, which is not supported", c)
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
