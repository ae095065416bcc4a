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

// errSpool is the error for an input that is too large to be copied.
var errSpool = errors.New("too large to be copied, as what is compressed or a pipe has to be; decompress it to a file of its own")

// newSpool copies up to most bytes of src.
func newSpool(src io.Reader, most int64) (*spool, error) {
	var head bytes.Buffer
	_, err := io.CopyN(&head, src, min(maxMemorySpool, most+1))
	switch {
	case err == io.EOF:
		return &spool{file: bytes.NewReader(head.Bytes()), size: int64(head.Len())}, nil
	case err != nil:
		return nil, err
	case int64(head.Len()) > most:
		return nil, fmt.Errorf("more than %d bytes are %w", most, errSpool)
	}
	temp, err := os.CreateTemp("", "optrace-*.parquet")
	if err != nil {
		return nil, fmt.Errorf("copying to a temporary file: %w", err)
	}
	// Without its name the copy ends with the process, whatever ends that. On systems
	// that do not allow this, close removes it.
	_ = os.Remove(temp.Name())
	s := &spool{file: temp, temp: temp}
	s.size, err = copySparse(temp, &io.LimitedReader{R: io.MultiReader(&head, src), N: most + 1})
	if err == nil && s.size > most {
		err = fmt.Errorf("more than %d bytes are %w", most, errSpool)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("copying to a temporary file: %w", err)
	}
	return s, nil
}

// copySparse copies src to an empty file and returns its size. Blocks of zeros are left
// out: they take no room.
func copySparse(dst *os.File, src io.Reader) (size int64, err error) {
	const block = 64 << 10
	buf, zeros := make([]byte, block), make([]byte, block)
	for err == nil {
		var n int
		if n, err = io.ReadFull(src, buf); n > 0 && !bytes.Equal(buf[:n], zeros[:n]) {
			if _, err := dst.WriteAt(buf[:n], size); err != nil {
				return size, err
			}
		}
		size += int64(n)
	}
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return size, err
	}
	return size, dst.Truncate(size)
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
