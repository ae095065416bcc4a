// Package fulldisk has a failing writer and a limit of files, for tests.
package fulldisk

import "errors"

// Err is the default error of a [Writer].
var Err = errors.New("disk full")

// Writer accepts some bytes and then fails. The zero value fails at once.
type Writer struct {
	Left int   // counts the bytes to accept
	Err  error // the error after that; nil means [Err]
}

// Write implements io.Writer. It accepts as much of p as fits.
func (w *Writer) Write(p []byte) (int, error) {
	n := min(len(p), w.Left)
	w.Left -= n
	switch {
	case n == len(p):
		return n, nil
	case w.Err != nil:
		return n, w.Err
	}
	return n, Err
}
