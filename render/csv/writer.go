package csv

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/text/termtext"
)

// Options are the options of all tables.
type Options struct {
	// Unguarded writes text unchanged, even if a spreadsheet takes it for a formula.
	Unguarded bool
	// Printable escapes control characters and invisible formatting, for a terminal.
	Printable bool
}

type writer struct {
	csv  *csv.Writer
	opts Options
	row  []string
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

// guard returns s, preceded by an apostrophe if a spreadsheet would take it for a formula. Some spreadsheets treat
// full-width and small forms as the characters themselves.
func guard(s string) string {
	switch first, _ := utf8.DecodeRuneInString(s); first {
	case '=', '+', '-', '@', '\t', '\r', '\n',
		'\uff1d', '\uff0b', '\uff0d', '\uff20', '\ufe66', '\ufe62', '\ufe63', '\ufe6b':
		return "'" + s
	}
	return s
}

// plain adds a field without guarding it, an empty one if it is unknown.
func (w *writer) plain(s string, known bool) {
	if !known {
		s = ""
	}
	w.row = append(w.row, s)
}

func (w *writer) int(n int64) { w.plain(strconv.FormatInt(n, 10), true) }

func (w *writer) float(f float64, known bool) { w.plain(strconv.FormatFloat(f, 'f', -1, 64), known) }

func (w *writer) end() error {
	err := w.csv.Write(w.row)
	w.row = w.row[:0]
	return failure(err)
}

func (w *writer) flush() error {
	w.csv.Flush()
	return failure(w.csv.Error())
}

func failure(err error) error {
	if err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}
