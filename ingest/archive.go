package ingest

import (
	"archive/zip"
	"errors"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

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
