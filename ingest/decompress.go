package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The limits of the content of a compressed file. Decompression streams: all but the window bound time, not memory.
const (
	// maxRatio is the largest accepted expansion. Repetitive spans reach some hundreds; gzip cannot exceed 1032.
	maxRatio = 2000
	// freeDecompressedBytes are accepted at any ratio: small files of equal lines compress extremely well.
	freeDecompressedBytes = 64 << 20
	// maxWindowBytes bounds the memory of a zstd frame: the largest window that zstd uses without a special flag.
	maxWindowBytes = 128 << 20
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// content is the content of a file after decompression. A truncated or damaged file ends early: Read returns io.EOF
// after the last good byte, and damage holds the reason.
type content struct {
	src          io.Reader
	stored       *countingReader
	isCompressed bool
	total        int64
	damage       error
	close        func()
}

// decompress returns the content of file. file counts the stored bytes, of a file of an archive if z is set.
func decompress(file *countingReader, z *zipped, t *tail) (*content, error) {
	src := io.Reader(file)
	if z != nil {
		src = z.content(file)
	}
	buffered := bufio.NewReaderSize(src, storedBuffer)
	head, err := buffered.Peek(len(zstdMagic))
	for errors.Is(err, io.EOF) && t.grows() && t.wait() {
		head, err = buffered.Peek(len(zstdMagic))
	}
	if err != nil && !errors.Is(err, io.EOF) && (z == nil || file.err != nil) {
		return nil, err
	}
	if bytes.HasPrefix(head, zipMagic) {
		return nil, errZip
	}
	isGzip, isZstd := bytes.HasPrefix(head, gzipMagic), bytes.Equal(head, zstdMagic)
	c := &content{src: buffered, stored: file, close: func() {}, isCompressed: isGzip || isZstd || z != nil}
	switch {
	case isGzip:
		c.src, c.damage = gzip.NewReader(buffered)
	case isZstd:
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(maxWindowBytes), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("opening zstd: %w", err)
		}
		c.src, c.close = z, z.Close
	}
	return c, nil
}

const storedBuffer = 64 << 10

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	if c.damage != nil {
		return 0, io.EOF
	}
	n, err := c.src.Read(p)
	if !c.isCompressed {
		return n, err
	}
	c.total += int64(n)
	switch {
	case c.total > freeDecompressedBytes && c.total > maxRatio*c.stored.n:
		return n, fmt.Errorf("decompressed content exceeds %d times the size of the file", maxRatio)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return n, fmt.Errorf("zstd frame asks for more than %d bytes of memory: %w", maxWindowBytes, err)
	case err != nil && err != io.EOF && c.stored.err == nil:
		// The file itself was read without an error: its compressed data are damaged or truncated.
		c.damage = err
		err = io.EOF
	}
	return n, err
}

func (c *content) truncated() bool {
	return errors.Is(c.damage, io.ErrUnexpectedEOF) || errors.Is(c.damage, io.EOF)
}

type countingReader struct {
	src  io.Reader
	n    int64
	err  error
	seen func(n int)
}

// Read implements io.Reader.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	r.count(n)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// count adds n. It is negative for bytes to be read again.
func (r *countingReader) count(n int) {
	r.n += int64(n)
	if n != 0 && r.seen != nil {
		r.seen(n)
	}
}
