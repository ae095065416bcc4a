package csv

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/op"
)

// Options are the options of all tables.
type Options struct {
	// Unguarded writes text unchanged, even if spreadsheets take it for a formula.
	Unguarded bool
	// Printable escapes control characters and invisible formatting, for a terminal.
	Printable bool
}

// writer writes rows of typed fields.
type writer struct {
	csv  *csv.Writer
	opts Options
	row  []string
}

func newWriter(w io.Writer, opts Options, header []string) (*writer, error) {
	out := &writer{csv: csv.NewWriter(w), opts: opts}
	if err := out.csv.Write(header); err != nil {
		return nil, fmt.Errorf("writing CSV: %w", err)
	}
	return out, nil
}

// text adds a field of text from the input.
func (w *writer) text(s string) {
	if !w.opts.Unguarded {
		s = guard(s)
	}
	if w.opts.Printable {
		s = termtext.Escape(s)
	}
	w.row = append(w.row, s)
}

// guard returns s, preceded by an apostrophe if a spreadsheet would take it for a
// formula. Some spreadsheets treat full-width and small forms as the characters
// themselves.
func guard(s string) string {
	switch first, _ := utf8.DecodeRuneInString(s); first {
	case '=', '+', '-', '@', '\t', '\r', '\n',
		'\uff1d', '\uff0b', '\uff0d', '\uff20',
		'\ufe66', '\ufe62', '\ufe63', '\ufe6b':
		return "'" + s
	}
	return s
}

func (w *writer) int(n int64) { w.row = append(w.row, strconv.FormatInt(n, 10)) }

func (w *writer) known(n op.Int) {
	if n.Known {
		w.int(n.V)
	} else {
		w.empty()
	}
}

func (w *writer) float(f float64) {
	w.row = append(w.row, strconv.FormatFloat(f, 'f', -1, 64))
}

func (w *writer) knownFloat(f op.Float) {
	if f.Known {
		w.float(f.V)
	} else {
		w.empty()
	}
}

func (w *writer) empty() { w.row = append(w.row, "") }

// end completes the row.
func (w *writer) end() error {
	err := w.csv.Write(w.row)
	w.row = w.row[:0]
	if err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

func (w *writer) flush() error {
	w.csv.Flush()
	if err := w.csv.Error(); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}
