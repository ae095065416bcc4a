package arrowtable

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/optrace/optrace/internal/arrowipc"
)

// NewLZ4 returns a compressor with LZ4, which costs little time.
func NewLZ4() Compressor { return new(lz4Compressor) }

// NewZstd returns a compressor with zstd, which makes buffers smaller.
func NewZstd() Compressor { return new(zstdCompressor) }

type lz4Compressor struct {
	out    bytes.Buffer
	writer *lz4.Writer
}

func (*lz4Compressor) Codec() arrowipc.Compression { return arrowipc.LZ4Frame }

func (c *lz4Compressor) Append(dst, src []byte) []byte {
	if c.writer == nil {
		c.writer = lz4.NewWriter(&c.out)
		// The default of 4 MiB takes as much memory, for buffers that are a fraction of it.
		if err := c.writer.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
			panic(fmt.Sprintf("options of lz4: %v", err)) // they are constant
		}
	}
	c.out.Reset()
	c.writer.Reset(&c.out)
	_, _ = c.writer.Write(src) // a buffer takes everything
	_ = c.writer.Close()
	return append(dst, c.out.Bytes()...)
}

type zstdCompressor struct{ encoder *zstd.Encoder }

func (*zstdCompressor) Codec() arrowipc.Compression { return arrowipc.Zstd }

func (c *zstdCompressor) Append(dst, src []byte) []byte {
	if c.encoder == nil {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			panic(fmt.Sprintf("options of zstd: %v", err)) // they are constant
		}
		c.encoder = e
	}
	return c.encoder.EncodeAll(src, dst)
}
