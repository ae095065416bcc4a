package termtext

import (
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// Writer writes text to a terminal. It escapes all but printable characters, newlines and tabs.
type Writer struct {
	to   io.Writer
	rest []byte // the beginning of a character
	out  []byte
}

// NewWriter returns a Writer to a terminal.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write writes text. A character may be divided between two calls.
func (w *Writer) Write(text []byte) (int, error) {
	in := append(w.rest, text...)
	w.out = w.out[:0]
	for len(in) > 0 && utf8.FullRune(in) {
		r, size := utf8.DecodeRune(in)
		switch {
		case r == utf8.RuneError && size == 1:
			w.out = fmt.Appendf(w.out, `\x%02x`, in[0])
		case r == '\n' || r == '\t' || strconv.IsPrint(r):
			w.out = append(w.out, in[:size]...)
		default:
			w.out = appendEscape(w.out, r)
		}
		in = in[size:]
	}
	w.rest = append(w.rest[:0], in...)
	if _, err := w.to.Write(w.out); err != nil {
		return 0, err
	}
	return len(text), nil
}
