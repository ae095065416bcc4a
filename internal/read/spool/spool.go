// Package spool copies a sequential input for random access.
package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

var errTooLarge = errors.New("too large to be copied; decompress the input to a file")

// Copy copies up to most bytes of src for random access until closer is called: to memory if there are few, else to a
// temporary file. extension, such as ".parquet", ends its name.
func Copy(src io.Reader, most int64, extension string) (file io.ReaderAt, size int64, closer func(), err error) {
	const maxInMemory = 8 << 20
	most = min(most, math.MaxInt64-1) // the copy asks for one more
	var head bytes.Buffer
	_, err = io.CopyN(&head, src, min(maxInMemory, most+1))
	switch {
	case err == io.EOF:
		return bytes.NewReader(head.Bytes()), int64(head.Len()), func() {}, nil
	case err != nil:
		return nil, 0, nil, err
	case int64(head.Len()) > most:
		return nil, 0, nil, fmt.Errorf("more than %d bytes are %w", most, errTooLarge)
	}
	temp, err := os.CreateTemp("", "optrace-*"+extension)
	if err == nil {
		// Without its name the copy ends with the process, if the system allows it.
		_ = os.Remove(temp.Name())
		closer = func() { _, _ = temp.Close(), os.Remove(temp.Name()) }
		if size, err = copySparse(temp, io.LimitReader(io.MultiReader(&head, src), most+1)); err == nil && size > most {
			err = fmt.Errorf("more than %d bytes are %w", most, errTooLarge)
		}
		if err == nil {
			return temp, size, closer, nil
		}
		closer()
	}
	return nil, 0, nil, fmt.Errorf("copying to a temporary file: %w", err)
}

// copySparse copies src to an empty file and returns its size. It leaves out blocks of zeros: they take no room.
func copySparse(dst *os.File, src io.Reader) (size int64, err error) {
	const block = 64 << 10
	buf := make([]byte, block)
	zeros := make([]byte, block)
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
