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
	offset, size int64 // of the stored bytes
	isDeflated   bool
	sum          uint32
}

// members returns the files in an archive, in lexical order, without names that start with a dot.
func (in *Input) members(s source, src io.Reader) ([]source, error) {
	file, ok := src.(interface {
		fs.File
		io.ReaderAt
	})
	isOther := s.walked && path.Ext(s.path) != ".zip" // a checkpoint, a document, a program
	if s.zipped != nil || s.path == Stdin || in.opts.tail != nil || isOther || !ok {
		return nil, &refusedError{"a zip archive that is streamed, followed or found under another name: unpack it"}
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(file, info.Size())
	if err != nil {
		return nil, &refusedError{fmt.Sprintf("a zip archive that is cut off or damaged: %v", err)}
	}
	const perFile = 512 // bytes of memory, about
	if err := in.memory.hold(int64(len(z.File)) * perFile); err != nil {
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
		at, err := f.DataOffset()
		if f.Flags&1 != 0 || f.Method != zip.Deflate && f.Method != zip.Store {
			err = fmt.Errorf("it is encrypted, or its compression method, %d, is not supported", f.Method)
		}
		if err != nil {
			err = &refusedError{"a file of a zip archive that cannot be read: " + err.Error()}
		}
		found = append(found, source{path: s.path + name, walked: true, err: err, archive: s.path, zipped: &zipped{
			offset: at, size: int64(f.CompressedSize64), isDeflated: f.Method == zip.Deflate, sum: f.CRC32}})
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
