package ingest

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/klauspost/compress/flate"
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

var zipMagic = []byte("PK\x03\x04")

// errZip is the error of [decompress] for a zip archive.
var errZip = errors.New("a zip archive")

// zipped is a file in a zip archive.
type zipped struct {
	offset, size int64 // of the stored bytes
	isDeflated   bool
	sum          uint32
}

// content returns the content of a file, given its stored bytes. At its end it checks the sum.
func (z *zipped) content(stored io.Reader) io.Reader {
	if z.isDeflated {
		stored = flate.NewReader(stored)
	}
	return &summed{src: stored, sum: crc32.NewIEEE(), want: z.sum}
}

type summed struct {
	src  io.Reader
	sum  hash.Hash32
	want uint32
}

// Read implements io.Reader.
func (r *summed) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	_, _ = r.sum.Write(p[:n]) // does not fail
	if err == io.EOF && r.sum.Sum32() != r.want {
		err = zip.ErrChecksum
	}
	return n, err
}

// countingReaderAt reads a file at any offset. It adds to the count of the sequential reader, up to the size of the
// file: formats may skip parts and read others twice.
type countingReaderAt struct {
	file    *os.File
	size    int64
	mu      sync.Mutex // of counted
	counted *countingReader
	memory  *memory
}

// Hold bounds the memory of readers of the file, see [Input.Hold].
func (r *countingReaderAt) Hold(bytes int64) error { return r.memory.hold(bytes) }

// seekable returns a reader of the file behind c, nil if src is compressed or no regular file.
func seekable(src io.Reader, c *content, counted *countingReader, m *memory) *countingReaderAt {
	file, info := regular(src)
	if file == nil || file == os.Stdin || c.isCompressed { // standard input may not stand at its beginning
		return nil
	}
	return &countingReaderAt{file: file, size: info.Size(), counted: counted, memory: m}
}

// regular returns src if it is a regular file, nil otherwise. Reads of a regular file do not block.
func regular(src io.Reader) (*os.File, fs.FileInfo) {
	if file, ok := src.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return file, info
		}
	}
	return nil, nil
}

// ReadAt implements io.ReaderAt.
func (r *countingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.file.ReadAt(p, off)
	r.count(int64(n))
	return n, err
}

func (r *countingReaderAt) count(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n = min(n, r.size-r.counted.n); n > 0 {
		r.counted.count(int(n))
	}
}
