package ingest

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
)

var zipMagic = []byte("PK\x03\x04")

// errZip is the error of [decompress] for a zip archive.
var errZip = errors.New("a zip archive")

// zipped is a file in a zip archive.
type zipped struct {
	archive      string // path
	offset, size int64  // of the stored bytes
	isDeflated   bool
	sum          uint32
}

// zippedBytes is about the memory of a file in the directory of an archive.
const zippedBytes = 512

// members returns the files in an archive, in lexical order, without names that start with a dot.
func (in *Input) members(s source, src io.Reader) ([]source, error) {
	file, isFile := src.(fs.File)
	at, isReaderAt := src.(io.ReaderAt)
	if s.zipped != nil || s.path == Stdin || in.opts.tail != nil || !isFile || !isReaderAt {
		return nil, &refusedError{"a zip archive, which cannot be streamed or followed: unpack it"}
	}
	if s.walked && path.Ext(s.path) != ".zip" { // of checkpoints, documents and programs
		return nil, &refusedError{"a zip archive by another name: name it as an input"}
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(at, info.Size())
	if err != nil {
		return nil, &refusedError{fmt.Sprintf("a zip archive that is cut off or damaged: %v", err)}
	}
	if err := in.memory.hold(int64(len(z.File)) * zippedBytes); err != nil {
		return nil, err
	}
	var found []source
	left := uint64(info.Size())
	for _, f := range z.File {
		name := path.Clean("/" + f.Name)
		if f.Mode().IsDir() || strings.Contains(name, "/.") || strings.HasPrefix(name, "/__MACOSX/") {
			continue
		}
		if left < f.CompressedSize64 {
			return nil, &refusedError{"a zip archive with overlapping files"}
		}
		left -= f.CompressedSize64
		m := source{path: s.path + name, walked: true, zipped: &zipped{archive: s.path,
			size: int64(f.CompressedSize64), isDeflated: f.Method == zip.Deflate, sum: f.CRC32}}
		m.zipped.offset, m.err = f.DataOffset()
		switch {
		case f.Flags&1 != 0:
			m.err = &refusedError{"an encrypted file of a zip archive"}
		case f.Method != zip.Deflate && f.Method != zip.Store:
			m.err = &refusedError{fmt.Sprintf("a file of a zip archive in compression method %d", f.Method)}
		case m.err != nil:
			m.err = &refusedError{fmt.Sprintf("a file of a damaged zip archive: %v", m.err)}
		}
		found = append(found, m)
	}
	if len(found) == 0 {
		return nil, &refusedError{"a zip archive without files"}
	}
	slices.SortStableFunc(found, func(a, b source) int { return cmp.Compare(a.path, b.path) })
	return found, nil
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
