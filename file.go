package optrace

import (
	"fmt"
	"os"
)

// NewFileExporter returns an Exporter that appends to the file at path, which
// is created readable for its owner only where it does not exist. A line that
// an earlier process left unfinished is ended first, so that it spoils nothing
// behind it. Shutdown closes the file.
func NewFileExporter(path string, opts ...Option) (*Exporter, error) {
	const ownerOnly = 0o600
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, ownerOnly)
	if err != nil {
		return nil, fmt.Errorf("optrace: opening the file to export to: %w", err)
	}
	torn, err := endsWithinLine(f)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("optrace: looking at the end of the file to export to: %w", err)
	}
	s := newSink(f, f.Close, entriesFormat{})
	s.torn = torn
	return newExporter(s, newConfig(opts))
}

// endsWithinLine reports whether a regular file has content and its last byte
// is no newline.
func endsWithinLine(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}
