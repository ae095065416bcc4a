package ingest

import (
	"io"
	"io/fs"
	"os"
	"sync"
)

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
