package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// spool is a copy of an input that can be read anywhere.
type spool struct {
	file io.ReaderAt
	size int64
	temp *os.File // nil where the copy is in memory
}

// maxMemorySpool is up to where the copy is kept in memory.
const maxMemorySpool = 8 << 20

// newSpool copies src.
func newSpool(src io.Reader) (*spool, error) {
	var head bytes.Buffer
	_, err := io.CopyN(&head, src, maxMemorySpool)
	if err == io.EOF {
		return &spool{file: bytes.NewReader(head.Bytes()), size: int64(head.Len())}, nil
	}
	if err != nil {
		return nil, err
	}
	temp, err := os.CreateTemp("", "optrace-*.parquet")
	if err != nil {
		return nil, fmt.Errorf("copying to a temporary file: %w", err)
	}
	// Without its name the copy ends with the process, even one that is killed. On
	// systems that do not allow this, close removes it.
	_ = os.Remove(temp.Name())
	// Where a file may be removed while it is open, nothing is left behind even if
	// the process is killed.
	_ = os.Remove(temp.Name())
	s := &spool{file: temp, temp: temp}
	limited := &io.LimitedReader{R: io.MultiReader(&head, src), N: MaxSpoolBytes + 1}
	if s.size, err = io.Copy(temp, limited); err == nil && s.size > MaxSpoolBytes {
		err = errors.New("more than 64 GiB that are not in a file of their own")
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("copying to a temporary file: %w", err)
	}
	return s, nil
}

// close removes the copy.
func (s *spool) close() {
	if s.temp == nil {
		return
	}
	// Nothing depends on the copy any more.
	_ = s.temp.Close()
	_ = os.Remove(s.temp.Name())
}
