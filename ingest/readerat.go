package ingest

import (
	"io"
	"os"
	"sync"
)

// countingReaderAt reads a file anywhere. What it reads joins the count of the
// reader that looked at the beginning, up to the size of the file: formats may
// leave parts out and read others twice.
type countingReaderAt struct {
	file    *os.File
	size    int64
	mu      sync.Mutex // of counted
	counted *countingReader
}

// seekable returns a reader of the file behind c, nil where src is something
// else, such as a pipe, or is compressed.
func seekable(src io.Reader, c *content, counted *countingReader) *countingReaderAt {
	file, ok := src.(*os.File)
	if !ok || file == os.Stdin || c.isCompressed || !isRegular(src) {
		return nil // standard input may not stand at its beginning
	}
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	return &countingReaderAt{file: file, size: info.Size(), counted: counted}
}

// isRegular reports whether src is a regular file, which reads do not wait for.
func isRegular(src io.Reader) bool {
	file, ok := src.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode().IsRegular()
}

// ReadAt implements io.ReaderAt.
func (r *countingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.file.ReadAt(p, off)
	r.count(int64(n))
	return n, err
}

// countRest counts the bytes that have not been read.
func (r *countingReaderAt) countRest() { r.count(r.size) }

func (r *countingReaderAt) count(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n = min(n, r.size-r.counted.n); n > 0 {
		r.counted.count(int(n))
	}
}
