package ingest

import (
	"io"
	"io/fs"
	"os"
	"sync"
)

// countingReaderAt reads a file anywhere. What it reads joins the count of the reader that looked at the beginning, up
// to the size of the file: formats may leave parts out and read others twice.
type countingReaderAt struct {
	file    *os.File
	size    int64
	mu      sync.Mutex // of counted
	counted *countingReader
	memory  *memory
}

// Hold bounds what readers of the file hold, see [Input.Hold].
func (r *countingReaderAt) Hold(bytes int64) error { return r.memory.hold(bytes) }

// seekable returns a reader of the file behind c, nil where src is something else, such as a pipe, or is compressed.
func seekable(src io.Reader, c *content, counted *countingReader, m *memory) *countingReaderAt {
	file, info := regular(src)
	if file == nil || file == os.Stdin || c.isCompressed { // standard input may not stand at its beginning
		return nil
	}
	return &countingReaderAt{file: file, size: info.Size(), counted: counted, memory: m}
}

// regular returns the regular file that src is, which reads do not wait for; nil for anything else.
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

// count counts bytes that were read, as far as the file has not been counted.
func (r *countingReaderAt) count(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n = min(n, r.size-r.counted.n); n > 0 {
		r.counted.count(int(n))
	}
}
