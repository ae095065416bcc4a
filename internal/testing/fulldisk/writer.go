// Package fulldisk has a writer that fails, for tests of what writes.
package fulldisk

import "errors"

// Err is the error of a [Writer] that names no other.
var Err = errors.New("disk full")

// Writer takes some bytes and then fails. The zero value fails at once.
type Writer struct {
	// Left is how many bytes it takes.
	Left int
	// Err is the error behind them, [Err] if it is nil.
	Err error
}

// Write implements io.Writer. It takes the part of p that there is room for.
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
