package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/optrace/optrace/internal/arrowipc"
)

// decompressor decompresses buffers. Its decoder is made when it is needed.
type decompressor struct{ zstd *zstd.Decoder }

// close releases what the decoder holds.
func (d *decompressor) close() {
	if d.zstd != nil {
		d.zstd.Close()
		d.zstd = nil
	}
}

var errBufferSize = errors.New("buffer is not of the size that it states")

// decompress returns a buffer whose size stands in front of it; -1 is one that is
// not compressed.
func (d *decompressor) decompress(c arrowipc.Compression, data []byte) (plain []byte, err error) {
	// The formats below come from libraries, and the buffers from anywhere.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("damaged compressed data: %v", fault)
		}
	}()
	const prefix = 8
	if len(data) < prefix {
		return nil, errBufferSize
	}
	size := int64(binary.LittleEndian.Uint64(data))
	data = data[prefix:]
	switch {
	case size == -1:
		return data, nil
	case size < 0 || size > MaxBufferBytes:
		return nil, fmt.Errorf("buffer of %d bytes; at most %d are read", size, MaxBufferBytes)
	}
	if c == arrowipc.Zstd {
		return d.unzstd(data, size)
	}
	return unlz4(data, size)
}

func (d *decompressor) unzstd(data []byte, size int64) ([]byte, error) {
	if d.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("opening zstd: %w", err)
		}
		d.zstd = z
	}
	if err := d.zstd.Reset(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	return readExactly(d.zstd, size, len(data))
}

// readExactly reads size bytes, the end of src. Memory grows with what is there, not
// with what is claimed: compressed is the size of the data behind src.
func readExactly(src io.Reader, size int64, compressed int) ([]byte, error) {
	const usualRatio = 64
	var b bytes.Buffer
	b.Grow(int(min(size+bytes.MinRead, int64(compressed)*usualRatio+bytes.MinRead)))
	n, err := io.Copy(&b, io.LimitReader(src, size+1))
	if err != nil {
		return nil, err
	}
	if n != size {
		return nil, errBufferSize
	}
	return b.Bytes(), nil
}
